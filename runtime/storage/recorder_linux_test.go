package storage_test

import (
	"encoding/gob"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An event is one thing that happened to a recorded file, or an acknowledgement of the program under test.
type event struct {
	Kind   eventKind
	Offset int64 // of a write; of a truncation the new size; of an acknowledgement the turn
	Data   []byte
}

type eventKind int

const (
	wrote eventKind = iota
	truncated
	synced
	acknowledged
)

// recorder logs the calls that change or sync one file of this process. The kernel itself reports them, before it
// carries them out (seccomp user notification): nothing between bbolt and the disk is replaced or believed.
type recorder struct {
	path     string
	listener int
	memory   *os.File // of this process, to read what is being written

	mu     sync.Mutex
	events []event
	err    error
}

// Layouts of the kernel's seccomp_notif and seccomp_notif_resp.
type (
	notification struct {
		id         uint64
		pid, flags uint32
		call       int32
		arch       uint32
		pointer    uint64
		args       [6]uint64
	}
	response struct {
		id    uint64
		value int64
		err   int32
		flags uint32
	}
)

// record starts recording the file, in all threads of this process and until it ends.
func record(path string) (*recorder, error) {
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil, err
	}
	r := &recorder{path: path, memory: memory}
	calls := []uint32{unix.SYS_PWRITE64, unix.SYS_FTRUNCATE, unix.SYS_FSYNC, unix.SYS_FDATASYNC}
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}} // the number of the call
	for n, call := range calls {
		program = append(program, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jt: uint8(len(calls) - n)})
	}
	program = append(program,
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, err
	}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		return nil, errno
	}
	r.listener = int(fd)
	go r.listen()
	return r, nil
}

func (r *recorder) listen() {
	for {
		var n notification
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(r.listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n))); errno == unix.EINTR || errno == unix.ENOENT {
			continue // a signal came to us, or to the caller, who will call again (seccomp_unotify(2))
		} else if errno != 0 {
			panic(errno)
		}
		r.note(n)
		answer := response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		unix.Syscall(unix.SYS_IOCTL, uintptr(r.listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&answer)))
	}
}

// note logs one call.
func (r *recorder) note(n notification) {
	if name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", n.args[0])); err != nil || name != r.path {
		return
	}
	var e event
	var err error
	switch n.call {
	case unix.SYS_PWRITE64:
		e = event{wrote, int64(n.args[3]), make([]byte, n.args[2])}
		_, err = r.memory.ReadAt(e.Data, int64(n.args[1]))
	case unix.SYS_FTRUNCATE:
		e = event{Kind: truncated, Offset: int64(n.args[1])}
	default:
		e = event{Kind: synced}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	if r.err == nil {
		r.err = err
	}
}

// acknowledge logs that the turn is said to be durable.
func (r *recorder) acknowledge(turn int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event{Kind: acknowledged, Offset: int64(turn)})
}

// save writes the log to a file.
func (r *recorder) save(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	var out strings.Builder
	if err := gob.NewEncoder(&out).Encode(r.events); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(out.String()), 0o600)
}

// disk is a file as it would be found after a power cut.
type disk []byte

func (d *disk) apply(e event) {
	switch e.Kind {
	case wrote:
		if missing := int(e.Offset) + len(e.Data) - len(*d); missing > 0 {
			*d = append(*d, make([]byte, missing)...)
		}
		copy((*d)[e.Offset:], e.Data)
	case truncated:
		if missing := int(e.Offset) - len(*d); missing > 0 {
			*d = append(*d, make([]byte, missing)...)
		}
		*d = (*d)[:e.Offset]
	}
}

// sector is what a disk writes whole or not at all.
const sector = 512

// cut returns the disk after a power cut behind the events: what was synced is there, and of the rest what chance
// takes. how names the kind of loss.
func cut(before []byte, events []event, random *rand.Rand) (d disk, how string) {
	d = append(d, before...)
	durable := 0
	for n, e := range events {
		if e.Kind == synced {
			durable = n
		}
	}
	for _, e := range events[:durable] {
		d.apply(e)
	}
	pending := events[durable:]
	how = []string{"nothing unsynced", "all but the last write", "some writes", "some sectors", "one write torn", "all writes"}[random.IntN(6)]
	switch how {
	case "nothing unsynced":
		return d, how
	case "all but the last write":
		pending = pending[:max(0, len(pending)-1)]
	case "some writes":
		pending = chosen(pending, random)
	case "some sectors":
		pending = chosen(sectors(pending), random)
	case "one write torn":
		if n := len(pending); n > 0 {
			last := sectors(pending[n-1:])
			pending = append(pending[:n-1:n-1], last[:random.IntN(len(last)+1)]...)
		}
	}
	for _, e := range pending {
		d.apply(e)
	}
	return d, how
}

// sectors divides writes into what a disk writes at once.
func sectors(events []event) (parts []event) {
	for _, e := range events {
		for e.Kind == wrote && len(e.Data) > sector {
			parts = append(parts, event{wrote, e.Offset, e.Data[:sector]})
			e.Offset, e.Data = e.Offset+sector, e.Data[sector:]
		}
		parts = append(parts, e)
	}
	return parts
}

// chosen returns some of the events in another order.
func chosen(events []event, random *rand.Rand) (some []event) {
	share := random.Float64()
	for _, n := range random.Perm(len(events)) {
		if random.Float64() < share {
			some = append(some, events[n])
		}
	}
	return some
}
