package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	if err := b.copyTo(path, s); err != nil {
		return fmt.Errorf("storage: copy %s to %s: %w", b.path, path, explain(err))
	}
	return nil
}

func (b *bolt) copyTo(path string, s *Store) error {
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	s.writes.Lock()
	copied, err := copyFile(b.path, path)
	s.writes.Unlock()
	if err != nil {
		return err
	}
	defer os.Remove(copied)
	return publish(copied, path)
}

// settled waits until every turn applied so far is durable or dropped.
func (s *Store) settled() error {
	for {
		if err := s.Apply(Turn{}, nil).Wait(context.Background()); !errors.Is(err, ErrDropped) {
			return err
		}
	}
}

// copySuffix comes after the name of a copy that is not finished.
const copySuffix = ".new-"

// copyFile copies a file, durably, to a new one with another name beside the wanted one. The caller publishes and
// removes it.
func copyFile(from, beside string) (copied string, err error) {
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(beside), filepath.Base(beside)+copySuffix+"*")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		os.Remove(out.Name())
		return "", err
	}
	return out.Name(), nil
}
