package image

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapped is an arena in a file without a name. The process sees it through one mapping that is writable only while an
// image is written: its file may not grow, and a process without privileges may not write files at all.
type mapped struct {
	file *os.File
	all  []byte
}

func newMapped(size int) (arena, error) {
	fd, err := unix.MemfdCreate("start images", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "start images")
	if err := f.Truncate(int64(size)); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW); err != nil {
		f.Close()
		return nil, os.NewSyscallError("fcntl", err)
	}
	all, err := unix.Mmap(fd, 0, size, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		f.Close()
		return nil, os.NewSyscallError("mmap", err)
	}
	return &mapped{f, all}, nil
}

func (m *mapped) bytes() int { return len(m.all) }

func (m *mapped) write(at, pages int, f func(to []byte)) bool {
	to := m.read(at, pages)
	if len(to) == 0 {
		return true
	}
	if unix.Mprotect(to, unix.PROT_READ|unix.PROT_WRITE) != nil {
		return false
	}
	f(to)
	return unix.Mprotect(to, unix.PROT_READ) == nil
}

func (m *mapped) read(at, pages int) []byte { return m.all[at*PageSize : (at+pages)*PageSize] }

func (m *mapped) lay(memory []byte, at, skip int) error {
	_, err := unix.MmapPtr(int(m.file.Fd()), int64(at+skip)*PageSize, unsafe.Pointer(unsafe.SliceData(memory)), uintptr(len(memory)),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED)
	return os.NewSyscallError("mmap", err)
}

func (m *mapped) drop(at, pages int) {
	place := m.read(at, pages)
	if len(place) == 0 || unix.Mprotect(place, unix.PROT_READ|unix.PROT_WRITE) != nil {
		return
	}
	_ = unix.Madvise(place, unix.MADV_REMOVE)
	_ = unix.Mprotect(place, unix.PROT_READ)
}
