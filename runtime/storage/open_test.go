package storage_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolshed/runtime/storage"
)

// TestCleanClose: only a file that was closed and is as it was then is not checked whole.
func TestCleanClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gadget.db")
	whole := func(when string, want bool) {
		t.Helper()
		if got := storage.CheckedWhole(path); got != want {
			t.Errorf("%s: checked whole: %v, want %v", when, got, want)
		}
	}
	s := mustOpen(t, path)
	s.Apply(turn("a", "1"), nil).Wait(t.Context())
	whole("while open", true)
	s.Close()
	whole("closed", false)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, path)
	whole("opened and not written", false)
	s.Apply(turn("a", "2"), nil).Wait(t.Context())
	whole("written", true)
	s.Close()
	whole("closed again", false)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}

	os.WriteFile(path, data, 0o600)
	whole("overwritten", true)
	os.Chtimes(path, time.Time{}, info.ModTime())
	whole("an older file with the time of the newer", true)
	copied := filepath.Join(t.TempDir(), "copy.db")
	s = mustOpen(t, path)
	if err := s.CopyTo(copied); err != nil {
		t.Fatal(err)
	}
	s.Close()
	path = copied
	whole("a copy", true)
	os.Truncate(path, 8192*4)
	whole("cut", true)
}

// TestDamageIsNotClean: a file that gave wrong bytes is not closed as a whole one.
func TestDamageIsNotClean(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gadget.db")
	whole := filled(t, path)
	info, _ := os.Stat(path)
	whole = bytes.ReplaceAll(whole, bytes.Repeat([]byte("l"), 1000), bytes.Repeat([]byte("x"), 1000)) // in stale pages too
	os.WriteFile(path, whole, 0o600)
	os.Chtimes(path, time.Time{}, info.ModTime())
	s := mustOpen(t, path)
	if _, _, err := s.Get("long"); err == nil {
		t.Fatal("the damage was not found")
	}
	os.Chtimes(path, time.Time{}, time.Now())
	s.Close()
	if !storage.CheckedWhole(path) {
		t.Error("a file with a damaged value was closed as clean")
	}
}

// TestEarlierFormats opens files that earlier formats wrote: everything in them stays and can be changed, and they may
// have an alarm afterwards.
func TestEarlierFormats(t *testing.T) {
	for _, format := range []string{"format1", "format2"} {
		t.Run(format, func(t *testing.T) { testEarlierFormat(t, "testdata/"+format+".db.gz") })
	}
}

func testEarlierFormat(t *testing.T, packed string) {
	path := filepath.Join(t.TempDir(), "gadget.db")
	unpack(t, packed, path)
	if err := storage.Verify(path); err != nil {
		t.Errorf("before the migration: %v", err)
	}
	large := strings.Repeat("0123456789abcdef", 12500)
	for round := range 2 {
		s := mustOpen(t, path)
		list, err := s.List(storage.ListOptions{})
		if err != nil || len(list) != 41 {
			t.Fatalf("round %d: %d entries (%v)", round, len(list), err)
		}
		for n, e := range list[:40] {
			if e.Key != fmt.Sprintf("key %02d", n) || string(e.Value) != fmt.Sprintf("value %d", n) {
				t.Errorf("round %d: %q is %q", round, e.Key, e.Value)
			}
		}
		if string(list[40].Value) != large {
			t.Errorf("round %d: the large value is %.40q", round, list[40].Value)
		}
		n := uint64(0)
		err = s.Entries(0, func(sequence uint64, _ []byte) bool { n++; return sequence == n })
		if err != nil || n != uint64(41+round) {
			t.Errorf("round %d: %d entries (%v)", round, n, err)
		}
		if a, err := s.Alarm(); err != nil || a.Time != int64(round) {
			t.Errorf("round %d: the alarm is %+v (%v)", round, a, err)
		}
		large += "!"
		change := turn("large", large)
		change.Alarm = &storage.Alarm{Time: int64(round + 1), Due: 9}
		if err := s.Apply(change, []byte("later")).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := storage.Verify(path); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
	}
}

// TestLaterFormat: a file of a later format is refused and stays as it is, which is what an earlier program does with one
// of ours.
func TestLaterFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gadget.db")
	s := mustOpen(t, path)
	if err := s.MarkFormat(storage.FormatVersion + 1); err != nil {
		t.Fatal(err)
	}
	s.Close()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Open(path, nil); !errors.Is(err, storage.ErrFormat) {
		t.Errorf("a later format was opened (%v)", err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the file was changed")
	}
}

func unpack(t *testing.T, from, to string) {
	t.Helper()
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestReplacedWhileWaiting: the file whose lock Open waits for gets another one in its place meanwhile. The lock of
// the old one must not count.
func TestReplacedWhileWaiting(t *testing.T) {
	folder := t.TempDir()
	path, other := filepath.Join(folder, "gadget.db"), filepath.Join(folder, "other.db")
	s := mustOpen(t, path)
	s.Apply(turn("a", "new"), nil)
	if err := s.CopyTo(other); err != nil {
		t.Fatal(err)
	}
	s.Apply(turn("a", "old"), nil).Wait(t.Context())
	read := make(chan string)
	go func() {
		value, err := storage.ReadLocked(path, "a")
		if err != nil {
			t.Error(err)
		}
		read <- value
	}()
	time.Sleep(30 * time.Millisecond) // time to begin; without it the test passes, but shows less
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if v := <-read; v != "new" {
		t.Errorf("the locked file holds %q: it is the one that has no name any more", v)
	}
}
