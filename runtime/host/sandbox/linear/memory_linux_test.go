package linear

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"toolshed/runtime/host/sandbox/image"
)

// page tells what the system has of a page of a memory: nothing, the file's, or a copy for this memory alone.
func page(t *testing.T, memory []byte, n int) string {
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [8]byte
	at := uintptr(unsafe.Pointer(unsafe.SliceData(memory)))/image.PageSize + uintptr(n)
	if _, err := f.ReadAt(b[:], int64(at)*8); err != nil {
		t.Fatal(err)
	}
	const present, shared = 1 << 63, 1 << 61
	switch e := binary.LittleEndian.Uint64(b[:]); {
	case e&present == 0:
		return "nothing"
	case e&shared != 0:
		return "the file's"
	}
	return "a copy"
}

// What every instance writes to is copied before the next one runs, and nothing else is.
func TestWarmPagesAreCopiedBefore(t *testing.T) {
	probe, err := unix.Mmap(-1, 0, image.PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Madvise(probe, unix.MADV_POPULATE_WRITE); errors.Is(err, unix.EINVAL) {
		t.Skip("this system is older than Linux 5.14")
	}
	const pages = 8
	now := make([]byte, pages*image.PageSize)
	for k := range now {
		now[k] = byte(k / image.PageSize)
	}
	im := NewImage(now, false)
	start := func() (*Memory, []byte) {
		m := im.New(2*pages*image.PageSize, func() {})
		t.Cleanup(m.Free)
		im.Warm(nil, m)
		return m, m.Reallocate(pages * image.PageSize)
	}
	_, b := start()
	if got := page(t, b, 2); got != "nothing" {
		t.Fatalf("before anything was learnt the system has %s", got)
	}
	for _, n := range []int{2, 3, 6} {
		b[n*image.PageSize]++
	}
	im.Learn(nil, b)
	_, b = start()
	if !bytes.Equal(b, now) {
		t.Fatal("the memory is not as the image")
	}
	for n := range pages {
		want := "the file's"
		if n == 2 || n == 3 || n == 6 {
			want = "a copy"
		}
		if got := page(t, b, n); got != want {
			t.Errorf("page %d is %s, not %s", n, got, want)
		}
	}
}
