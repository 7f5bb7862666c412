package walls

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"

	"toolshed/runtime/host/wire"
)

// maxDescriptors is more than the child ever has open: standard streams, socket, start image, the runtime's poller.
const maxDescriptors = 16

// Drop gives up every privilege for good. The seccomp filter is required; the other walls are told when missing.
func Drop() (wire.Walls, error) {
	os.Clearenv()
	var walls wire.Walls
	stand := func(name string, err error) {
		w := wire.Wall{Name: name}
		if err != nil {
			w.Missing = err.Error()
		}
		walls = append(walls, w)
	}
	stand("dies with the kernel", unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0))
	stand("resource limits", limitResources())
	stand("landlock", landlocked())
	stand("not dumpable", unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := filterCalls(); err != nil {
		return nil, err
	}
	stand("system call filter", nil)
	return walls, nil
}

func limitResources() error {
	for _, l := range []struct {
		what  int
		value uint64
	}{{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, 0}, {unix.RLIMIT_NOFILE, maxDescriptors}, {unix.RLIMIT_MEMLOCK, 0},
		{unix.RLIMIT_MSGQUEUE, 0}} {
		if err := unix.Setrlimit(l.what, &unix.Rlimit{Cur: l.value, Max: l.value}); err != nil {
			return fmt.Errorf("limit %d: %w", l.what, err)
		}
	}
	return nil
}

// landlocked denies every file, every TCP and UDP port, and signals and abstract sockets of others.
func landlocked() error {
	if err := landlock.V11.BestEffort().Restrict(); err != nil {
		return err
	}
	// BestEffort succeeds without Landlock too: look.
	if f, err := os.Open("/"); err == nil {
		f.Close()
		return errors.New("the system has no Landlock")
	}
	return nil
}

// filterCalls lets through only the system calls that the Go runtime needs to run what is already there. Everything
// else, and every call that is added to the kernel later, fails with EPERM.
func filterCalls() error {
	self := uint64(os.Getpid())
	only := func(arg uint32, op seccomp.Operation, v uint64) seccomp.ArgumentConditions {
		return seccomp.ArgumentConditions{{Argument: arg, Operation: op, Value: v}}
	}
	allowed := seccomp.SyscallGroup{Action: seccomp.ActionAllow, Names: allowedCalls,
		NamesWithCondtions: []seccomp.NameWithConditions{
			// Threads only, never processes: the system lets a thread only share everything.
			{Name: "clone", Conditions: only(0, seccomp.BitsSet, unix.CLONE_THREAD)},
			// The runtime interrupts its own threads.
			{Name: "tgkill", Conditions: only(0, seccomp.Equal, self)},
			// The runtime names its memory.
			{Name: "prctl", Conditions: only(0, seccomp.Equal, unix.PR_SET_VMA)},
			{Name: "fcntl", Conditions: only(1, seccomp.Equal, unix.F_GETFL)},
		}}
	// The C library asks for this one first, and takes clone if it is told that there is none.
	absent := seccomp.SyscallGroup{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: []string{"clone3"}}
	return seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync,
		Policy: seccomp.Policy{DefaultAction: seccomp.ActionErrno, Syscalls: []seccomp.SyscallGroup{allowed, absent}}})
}
