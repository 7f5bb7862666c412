package linear

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"toolshed/runtime/host/sandbox/image"
)

// SoftLimit bounds the Go heap of the child, softly: the nearer it comes, the more often it is collected. The memories
// of the gadgets are not part of it.
const SoftLimit = 512 << 20

// Start is a start image in a sealed file without a name.
type Start struct {
	file *os.File
	size uint64
	view []byte
}

// NewStart writes the image. The seals make sure that nothing changes it under the instances that map it.
func NewStart(b []byte) (*Start, error) {
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
	view, err := unix.Mmap(fd, 0, len(b), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		f.Close()
		return nil, os.NewSyscallError("mmap", err)
	}
	return &Start{f, uint64(len(b)), view}, nil
}

// Memory is a linear memory whose address never changes: the whole of what it may become is reserved at once, and
// made accessible as it grows. Nothing of it is on the Go heap, and it goes back to the system when it is freed.
type Memory struct {
	refused func()
	reserve []byte
	size    uint64
}

// New reserves a memory of at most limit bytes, with the start image in it if there is one. Where that fails, the first
// Reallocate gives nil, which the runtime makes a panic. refused is called when the memory may not grow further.
func New(limit int64, from *Start, refused func()) *Memory {
	l := &Memory{refused: refused}
	b, err := unix.Mmap(-1, 0, int(limit), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return l
	}
	l.reserve = b
	if from == nil || from.size > uint64(len(b)) {
		return l
	}
	_, err = unix.MmapPtr(int(from.file.Fd()), 0, unsafe.Pointer(unsafe.SliceData(b)), uintptr(from.size), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_FIXED)
	if err == nil {
		l.size = from.size
	}
	return l
}

// Reallocate implements experimental.LinearMemory.
func (l *Memory) Reallocate(size uint64) []byte {
	if size > uint64(len(l.reserve)) {
		l.refused()
		return nil
	}
	if size > l.size {
		if err := unix.Mprotect(l.reserve[l.size:size], unix.PROT_READ|unix.PROT_WRITE); err != nil {
			l.refused()
			return nil
		}
		l.size = size
	}
	return l.reserve[:size:len(l.reserve)]
}

// Forget gives back what the process keeps for itself of pages that are as they were mapped. The guest must not be running.
func (l *Memory) Forget(runs []image.Run) {
	for _, r := range runs {
		from := uint64(r.Page) * image.PageSize
		_ = unix.Madvise(l.reserve[from:from+uint64(r.Pages)*image.PageSize], unix.MADV_DONTNEED)
	}
}

// warm copies pages, in order, and makes the others readable, if any are to be copied: a page that was made readable before costs
// more to copy. A system too old for that (before Linux 5.14) does it when they are used.
func (l *Memory) warm(runs []image.Run) {
	for _, r := range runs {
		from := uint64(r.Page) * image.PageSize
		to := min(from+uint64(r.Pages)*image.PageSize, l.size)
		if from >= to || unix.Madvise(l.reserve[from:to], unix.MADV_POPULATE_WRITE) != nil {
			return
		}
	}
	if len(runs) > 0 {
		_ = unix.Madvise(l.reserve[:l.size], unix.MADV_POPULATE_READ)
	}
}

// Free implements experimental.LinearMemory.
func (l *Memory) Free() {
	if l.reserve != nil {
		_ = unix.Munmap(l.reserve)
		l.reserve = nil
	}
}

// Bytes returns the image, which must not be changed.
func (s *Start) Bytes() []byte { return s.view }
