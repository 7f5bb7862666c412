package image

import (
	"testing"

	"golang.org/x/sys/unix"
)

// memory returns pages that may be mapped over.
func memory(t *testing.T, pages int) []byte {
	b, err := unix.Mmap(-1, 0, pages*PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	return b
}

// A dropped image gives its pages back to the system, also when the process may write no files.
func TestDroppedPagesGoBack(t *testing.T) {
	a, err := newMapped(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	m := a.(*mapped)
	blocks := func() int64 {
		var st unix.Stat_t
		if err := unix.Fstat(int(m.file.Fd()), &st); err != nil {
			t.Fatal(err)
		}
		return st.Blocks
	}
	if !m.write(3, 16, func(to []byte) {
		for k := range to {
			to[k] = 1
		}
	}) {
		t.Fatal("it cannot be written")
	}
	if blocks() < 16*PageSize/512 {
		t.Fatalf("%d blocks are taken", blocks())
	}
	m.drop(3, 16)
	if n := blocks(); n != 0 {
		t.Fatalf("%d blocks are still taken", n)
	}
}
