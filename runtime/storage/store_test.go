package storage_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"toolshed/runtime/storage"
	"toolshed/runtime/storage/storagetest"
)

func TestMemory(t *testing.T) {
	storagetest.Suite{Open: func(t *testing.T, o *storage.Options) *storage.Store {
		if o != nil {
			return storage.OpenMemoryWith(o)
		}
		return storage.OpenMemory()
	}}.Run(t)
}

func TestFile(t *testing.T) {
	paths := map[*storage.Store]string{}
	open := func(t *testing.T, path string, o *storage.Options) *storage.Store {
		s, err := storage.Open(path, o)
		if err != nil {
			t.Fatal(err)
		}
		paths[s] = path
		return s
	}
	storagetest.Suite{
		Open: func(t *testing.T, o *storage.Options) *storage.Store {
			return open(t, filepath.Join(t.TempDir(), "gadget.db"), o)
		},
		Reopen: func(t *testing.T, s *storage.Store) *storage.Store {
			s.Close()
			return open(t, paths[s], nil)
		},
	}.Run(t)
}

func TestFileIsPrivateAndAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gadget.db")
	s := mustOpen(t, path)
	defer s.Close()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the file's mode is %v", info.Mode())
	}
	files, _ := os.ReadDir(filepath.Dir(path))
	if len(files) != 1 {
		t.Errorf("opening left %d files", len(files))
	}
}

func TestInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gadget.db")
	s := mustOpen(t, path)
	if _, err := storage.Open(path, nil); !errors.Is(err, storage.ErrInUse) {
		t.Errorf("second Open: %v, want ErrInUse", err)
	}
	s.Close()
	mustOpen(t, path).Close()
}

// A failed commit fails its turns and all later ones, and closes the store.
func TestFailedCommit(t *testing.T) {
	for _, c := range []struct{ cause, want error }{
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, storage.ErrFull},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.EROFS}, storage.ErrReadOnly},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.EACCES}, storage.ErrReadOnly},
		{syscall.EIO, syscall.EIO},
	} {
		started, proceed, n := make(chan bool), make(chan bool), 0
		s := storage.OpenFailing(func() error {
			started <- true
			<-proceed
			if n++; n == 2 {
				return c.cause
			}
			return nil
		})
		first := s.Apply(turn("a", "1"), nil)
		<-started
		failed, later := s.Apply(turn("a", "2"), nil), s.Apply(turn("b", "2"), nil)
		proceed <- true
		if err := first.Wait(t.Context()); err != nil {
			t.Errorf("the turn before: %v", err)
		}
		<-started
		latest := s.Apply(turn("b", "3"), nil)
		proceed <- true
		if err := failed.Wait(t.Context()); !errors.Is(err, c.want) {
			t.Errorf("the failed turn: %v, want %v", err, c.want)
		}
		for _, p := range []*storage.Commit{later, latest, s.Apply(turn("c", "4"), nil)} {
			if err := p.Wait(t.Context()); !errors.Is(err, storage.ErrClosed) || !errors.Is(err, c.want) {
				t.Errorf("a later turn: %v, want ErrClosed and its cause", err)
			}
		}
		if _, _, err := s.Get("a"); !errors.Is(err, storage.ErrClosed) {
			t.Errorf("Get: %v, want ErrClosed", err)
		}
		if err := s.Close(); !errors.Is(err, c.want) {
			t.Errorf("Close: %v, want the cause", err)
		}
	}
}

func TestCopy(t *testing.T) {
	folder := t.TempDir()
	s := mustOpen(t, filepath.Join(folder, "gadget.db"))
	defer s.Close()
	s.Apply(turn("a", "1"), []byte("entry"))
	copied := filepath.Join(folder, "copy.db")
	if err := s.CopyTo(copied); err != nil {
		t.Fatal(err)
	}
	s.Apply(turn("a", "2"), nil)
	if err := s.CopyTo(copied); !errors.Is(err, fs.ErrExist) {
		t.Errorf("copy over a file: %v, want ErrExist", err)
	}
	c := mustOpen(t, copied)
	defer c.Close()
	if v, _, err := c.Get("a"); string(v) != "1" {
		t.Errorf("the copy holds %q (%v)", v, err)
	}
	if err := storage.OpenMemory().CopyTo(filepath.Join(folder, "m.db")); err == nil {
		t.Error("a store in memory was copied")
	}
}

func turn(key, value string) storage.Turn {
	return storage.Turn{Writes: []storage.Write{{Key: key, Value: []byte(value)}}}
}

func mustOpen(t *testing.T, path string) *storage.Store {
	t.Helper()
	s, err := storage.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
