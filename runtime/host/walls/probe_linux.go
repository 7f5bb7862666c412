package walls

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"toolshed/runtime/host/wire"
)

// Probe tries what a child without privileges must be refused.
func Probe() []wire.Attempt {
	var out []wire.Attempt
	try := func(name string, f func() (string, error)) {
		got, err := f()
		a := wire.Attempt{Name: name, Refused: err != nil, Detail: got}
		if err != nil {
			a.Detail = err.Error()
		}
		out = append(out, a)
	}
	probeFiles(try)
	probeSockets(try)
	probeProcesses(try)
	probeSystem(try)
	return out
}

// attempt names and makes one attempt: an error means that it was refused.
type attempt = func(name string, f func() (string, error))

func probeFiles(try attempt) {
	try("read a file", func() (string, error) { return openFile("/proc/self/status", unix.O_RDONLY) })
	try("read a folder", func() (string, error) { return openFile("/", unix.O_RDONLY|unix.O_DIRECTORY) })
	try("write a file", func() (string, error) {
		name := fmt.Sprintf("/tmp/probe-%d", os.Getpid())
		defer unix.Unlink(name)
		return openFile(name, unix.O_WRONLY|unix.O_CREAT)
	})
	try("stat a file", func() (string, error) { var st unix.Stat_t; return "", unix.Stat("/", &st) })
	try("read the environment", func() (string, error) {
		if got, err := openFile("/proc/self/environ", unix.O_RDONLY); err == nil {
			return got, nil
		}
		if env := os.Environ(); len(env) > 0 {
			return fmt.Sprint(len(env), " variables"), nil
		}
		return "", errors.New("empty")
	})
}

func probeSockets(try attempt) {
	try("make an inet socket", func() (string, error) { return socket(unix.AF_INET, unix.SOCK_STREAM) })
	try("make an inet6 socket", func() (string, error) { return socket(unix.AF_INET6, unix.SOCK_DGRAM) })
	try("make a unix socket", func() (string, error) { return socket(unix.AF_UNIX, unix.SOCK_STREAM) })
	try("make a netlink socket", func() (string, error) { return socket(unix.AF_NETLINK, unix.SOCK_RAW) })
	try("make a socketpair", func() (string, error) {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err == nil {
			unix.Close(fds[0])
			unix.Close(fds[1])
		}
		return "", err
	})
	try("connect", func() (string, error) {
		// Even a connect on a descriptor that is no socket must fail as not permitted.
		err := unix.Connect(0, &unix.SockaddrInet4{Port: 9})
		if errors.Is(err, unix.EPERM) {
			return "", err
		}
		return fmt.Sprint("the call was made: ", err), nil
	})
	try("send a descriptor", func() (string, error) {
		err := unix.Sendmsg(0, nil, unix.UnixRights(0), nil, unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EPERM) {
			return "", err
		}
		return fmt.Sprint("the call was made: ", err), nil
	})
}

func probeProcesses(try attempt) {
	try("exec", func() (string, error) {
		err := unix.Exec("/nonexistent", []string{"x"}, nil)
		if errors.Is(err, unix.EPERM) {
			return "", err
		}
		return fmt.Sprint("the call was made: ", err), nil
	})
	try("fork", func() (string, error) {
		p, err := os.StartProcess("/proc/self/exe", []string{"probe"}, &os.ProcAttr{Env: []string{"X=1"}})
		if err == nil {
			_ = p.Kill()
			_, _ = p.Wait()
		}
		return "", err
	})
	try("clone a process", func() (string, error) {
		// The flags contradict each other: the call fails even if it is let through.
		_, _, err := syscall.RawSyscall6(unix.SYS_CLONE, unix.CLONE_SIGHAND, 0, 0, 0, 0, 0)
		if err == unix.EPERM {
			return "", err
		}
		return fmt.Sprint("the call was made: ", err), nil
	})
	try("signal another process", func() (string, error) { return "", unix.Kill(os.Getppid(), 0) })
	try("signal every process", func() (string, error) { return "", unix.Kill(-1, 0) })
	try("trace another process", func() (string, error) {
		err := unix.PtraceSetOptions(os.Getppid(), 0) // harmless: it says ESRCH when it is let through
		if errors.Is(err, unix.EPERM) {
			return "", err
		}
		return fmt.Sprint("the call was made: ", err), nil
	})
	try("read another process's memory", func() (string, error) {
		var b [1]byte
		local := []unix.Iovec{{Base: &b[0], Len: 1}}
		_, err := unix.ProcessVMReadv(os.Getpid(), local,
			[]unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&b)), Len: 1}}, 0)
		return "", err
	})
}

func probeSystem(try attempt) {
	try("make a namespace", func() (string, error) { return "", unix.Unshare(unix.CLONE_NEWUTS) })
	try("mount", func() (string, error) {
		return "", unix.Mount("none", "/proc", "tmpfs", unix.MS_REMOUNT|unix.MS_BIND, "")
	})
	try("raise a limit", func() (string, error) {
		var l unix.Rlimit
		return "", unix.Getrlimit(unix.RLIMIT_NOFILE, &l)
	})
	try("make an unnamed file", func() (string, error) {
		fd, err := unix.MemfdCreate("probe", 0)
		if err == nil {
			unix.Close(fd)
		}
		return "", err
	})
	try("use an io_uring", func() (string, error) {
		var params [120]byte
		fd, _, errno := syscall.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
		if errno != 0 {
			return "", errno
		}
		unix.Close(int(fd))
		return "", nil
	})
}

func openFile(name string, flags int) (string, error) {
	fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return "opened " + name, nil
}

func socket(family, kind int) (string, error) {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	unix.Close(fd)
	return "made", nil
}
