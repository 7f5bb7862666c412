package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// CopyTo writes a copy of the store to a new file, with every turn applied before the call. It waits for these to
// be durable and holds back commits, not turns, while it copies. It fails with an error that wraps fs.ErrExist if
// the file exists, and for a store in memory.
func (s *Store) CopyTo(path string) error {
	b, ok := s.backend.(*bolt)
	if !ok {
		return errors.New("storage: copy: a store in memory has no file")
	}
	if err := s.settled(); err != nil {
		return err
	}
	s.writes.Lock()
	defer s.writes.Unlock()
	if err := copyFile(b.path, path); err != nil {
		return fmt.Errorf("storage: copy %s to %s: %w", b.path, path, explain(err))
	}
	return nil
}

// settled waits until every turn applied so far is durable.
func (s *Store) settled() error {
	return s.Apply(Turn{}, nil).Wait(context.Background())
}

func copyFile(from, to string) (err error) {
	if _, err := os.Lstat(to); err == nil {
		return os.ErrExist
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), filepath.Base(to)+".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return err
	}
	return publish(out.Name(), to)
}
