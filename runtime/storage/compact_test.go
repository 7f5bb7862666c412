package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolshed/runtime/storage"
)

// TestCompact: what was deleted leaves the file when it is opened next, and nothing else does.
func TestCompact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gadget.db")
	s := mustOpen(t, path)
	for n := range 40 {
		s.Apply(turn(fmt.Sprint(n), string(noise(uint64(n), 1<<20))), []byte(fmt.Sprint("entry", n)))
	}
	s.Close()
	full := size(t, path)
	before, _ := os.Stat(path)
	s = mustOpen(t, path)
	if now, err := os.Stat(path); err != nil || !os.SameFile(before, now) {
		t.Errorf("a full file was compacted (%v)", err)
	}
	for n := 3; n < 40; n++ {
		s.Apply(storage.Turn{Writes: []storage.Write{{Key: fmt.Sprint(n), Delete: true}}}, nil)
	}
	s.Close()
	left := path + ".compact-123"
	os.WriteFile(left, []byte("of a crash"), 0o600)
	s = mustOpen(t, path)
	defer s.Close()
	if now := size(t, path); now > full/5 {
		t.Errorf("the file went from %d bytes to %d", full, now)
	}
	if _, err := storage.Open(path, nil); !errors.Is(err, storage.ErrInUse) {
		t.Errorf("the compacted file is not locked: %v", err)
	}
	for n := range 3 {
		if v, _, err := s.Get(fmt.Sprint(n)); !bytes.Equal(v, noise(uint64(n), 1<<20)) {
			t.Errorf("value %d is lost (%v)", n, err)
		}
	}
	if err := s.Apply(turn("a", "b"), []byte("entry40")).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := uint64(0)
	err := s.Entries(0, func(sequence uint64, entry []byte) bool {
		next++
		return sequence == next && string(entry) == fmt.Sprint("entry", next-1)
	})
	if err != nil || next != 41 {
		t.Errorf("%d entries (%v)", next, err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("it left %v", files)
	}
}

// TestCompactOfDamage: a file with a damaged value is not replaced.
func TestCompactOfDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gadget.db")
	whole := filled(t, path)
	whole = bytes.ReplaceAll(whole, []byte(strings.Repeat("l", 1000)), []byte(strings.Repeat("x", 1000)))
	os.WriteFile(path, whole, 0o600)
	s, err := storage.Open(path, storage.CompactAlways())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if now, _ := os.ReadFile(path); !bytes.Equal(now, whole) {
		t.Error("the damaged file was changed")
	}
	if v, _, err := s.Get("key 5"); string(v) != "vvvvv" {
		t.Errorf("a whole value: %q (%v)", v, err)
	}
	if _, _, err := s.Get("long"); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("the damaged value: %v", err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("it left %v", files)
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
