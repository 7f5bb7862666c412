package storage_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"toolshed/runtime/storage"
)

// written returns how many bytes this process has handed to write calls.
func written(t *testing.T) (n int64) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip(err)
	}
	_, after, _ := bytes.Cut(data, []byte("wchar: "))
	if _, err := fmt.Sscan(string(after), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLargeEdit: one character in the middle of a document of 10 MB writes at most 100 KB, inserted or replaced,
// alone or with an entry that repeats the document; and the file does not grow with the edits.
func TestLargeEdit(t *testing.T) {
	const goal = 100_000
	path := filepath.Join(t.TempDir(), "gadget.db")
	s := mustOpen(t, path)
	defer s.Close()
	document := noise(1, 10<<20)
	apply := func(document, entry []byte) int64 {
		before := written(t)
		if err := s.Apply(turn("document", string(document)), entry).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		return written(t) - before
	}
	if n := apply(document, nil); n < int64(len(document)) {
		t.Fatalf("the first write of %d bytes wrote %d: the meter is broken", len(document), n)
	}
	if n := apply(noise(2, 10<<20), nil); n < int64(len(document)) {
		t.Fatalf("another document of %d bytes wrote %d: the meter is broken", len(document), n)
	}
	apply(document, nil)
	for range 10 { // neighbours, so that the pages are as full as they get
		value := noise(uint64(s.Stats().Turns), 200_000)
		if err := s.Apply(turn(fmt.Sprintf("e%d", s.Stats().Turns), string(value)), nil).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var most, sum int64
	const edits = 40
	for n := range edits {
		middle := len(document)/2 + n*1000
		document = slices.Insert(slices.Clone(document), middle, byte('x'))
		if n%2 == 0 {
			document = slices.Delete(document, middle+1, middle+2)
		}
		bytes := apply(document, nil)
		most, sum = max(most, bytes), sum+bytes
	}
	t.Logf("an edit writes %d bytes on average, at most %d", sum/edits, most)
	if most > goal {
		t.Errorf("an edit writes %d bytes, want at most %d", most, goal)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 64<<20 {
		t.Errorf("after %d edits the file has %d bytes (%v)", edits, info.Size(), err)
	}
	apply(document, document)
	document = slices.Insert(slices.Clone(document), len(document)/2, 'y')
	if n := apply(document, document); n > goal {
		t.Errorf("an edit with an entry that repeats the document writes %d bytes, want at most %d", n, goal)
	}
	if got, _, err := s.Get("document"); err != nil || !bytes.Equal(got, document) {
		t.Errorf("the document came back otherwise (%v)", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := storage.Verify(path); err != nil {
		t.Error(err)
	}
}
