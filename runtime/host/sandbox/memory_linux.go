package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

// softMemory bounds the Go heap of the child, softly: the nearer it comes, the more often it is collected. The memories
// of the gadgets are not part of it.
const softMemory = 512 << 20

// mapping is a start image in a sealed file without a name.
type mapping struct {
	file *os.File
	size uint64
}

// newMapping writes the image. The seals make sure that nothing changes it under the instances that map it.
func newMapping(b []byte) (*mapping, error) {
	fd, err := unix.MemfdCreate("start image", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "start image")
	if _, err := f.Write(b); err != nil {
		f.Close()
		return nil, err
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		f.Close()
		return nil, os.NewSyscallError("fcntl", err)
	}
	return &mapping{f, uint64(len(b))}, nil
}

// linear is a linear memory whose address never changes: the whole of what it may become is reserved at once, and
// made accessible as it grows. Nothing of it is on the Go heap, and it goes back to the system when it is freed.
type linear struct {
	v       *vm
	reserve []byte
	size    uint64
}

// newLinear reserves the memory of an instance, with the start image in it if there is one. Where that fails, the
// first Reallocate gives nil, which the caller sees as a panic of the runtime.
func newLinear(v *vm, from *mapping) *linear {
	l := &linear{v: v}
	b, err := unix.Mmap(-1, 0, int(v.limit), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return l
	}
	l.reserve = b
	if from == nil || from.size > uint64(len(b)) {
		return l
	}
	_, err = unix.MmapPtr(int(from.file.Fd()), 0, pointer(b), uintptr(from.size), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_FIXED)
	if err == nil {
		l.size = from.size
	}
	return l
}

// Reallocate implements experimental.LinearMemory.
func (l *linear) Reallocate(size uint64) []byte {
	if size > uint64(len(l.reserve)) {
		l.v.refused = true
		return nil
	}
	if size > l.size {
		if err := unix.Mprotect(l.reserve[l.size:size], unix.PROT_READ|unix.PROT_WRITE); err != nil {
			l.v.refused = true
			return nil
		}
		l.size = size
	}
	return l.reserve[:size:len(l.reserve)]
}

// Free implements experimental.LinearMemory.
func (l *linear) Free() {
	if l.reserve != nil {
		_ = unix.Munmap(l.reserve)
		l.reserve = nil
	}
}
