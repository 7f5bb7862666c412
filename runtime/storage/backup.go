package storage

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Keep says which backups of a store stay: the newest Last, and the newest of each of the last Daily days that have
// one (days of UTC); of these as many of the newest as Bytes have room for, and the newest in any case. 0 Bytes mean no
// bound. The zero value means DefaultKeep.
type Keep struct {
	Last, Daily int
	Bytes       int64
}

// DefaultKeep is three backups, and one a day for a week.
var DefaultKeep = Keep{Last: 3, Daily: 7}

// Backup is a copy of a store's file, made between two commits.
type Backup struct {
	Path string
	Time time.Time
	Size int64
}

// DamagedError is ErrDamaged with the backup to go back to.
type DamagedError struct {
	Path   string    // of the damaged file
	Backup string    // the newest backup that is whole; empty if there is none
	Time   time.Time // of the backup
	Err    error
}

func (e *DamagedError) Error() string {
	if e.Backup == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("%v (the newest whole backup is %s)", e.Err, e.Backup)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// backupName is the name of a backup as a time layout: names sort like times.
const backupName = "20060102T150405.000000000Z.db"

// Backup makes a backup in the folder, which is made if it is missing and is for this store alone, then removes
// those that keep does not ask for. The backup holds every turn applied before the call. It gets its name once
// everything in it has been read back: a damaged file makes no backup, and removes none.
func (s *Store) Backup(folder string, keep Keep) (Backup, error) {
	b, ok := s.backend.(*bolt)
	if !ok {
		return Backup{}, errors.New("storage: back up: a store in memory has no file")
	}
	if err := s.settled(); err != nil {
		return Backup{}, err
	}
	made, err := b.backup(folder, &s.writes)
	if err == nil {
		err = prune(folder, keep)
	}
	if err != nil {
		err = fmt.Errorf("storage: back up %s: %w", b.path, explain(err))
	}
	return made, err
}

// Backups lists the backups in the folder, newest first. A folder that does not exist has none.
func Backups(folder string) ([]Backup, error) {
	files, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("storage: list backups: %w", err)
	}
	var list []Backup
	for _, f := range files {
		at, err := time.Parse(backupName, f.Name())
		if err != nil || !f.Type().IsRegular() {
			continue
		}
		if info, err := f.Info(); err == nil {
			list = append(list, Backup{filepath.Join(folder, f.Name()), at, info.Size()})
		}
	}
	slices.SortFunc(list, func(a, b Backup) int { return b.Time.Compare(a.Time) })
	return list, nil
}

// metaPages is more than bbolt's two meta pages take, whatever the size of a page: each commit changes one of them.
const metaPages = 2 * 64 << 10

// Unchanged reports whether nothing was committed to the store's file since the backup was made of it. It may be false
// although that is so, as after a compaction. A store that is open may be committing something just now.
func Unchanged(path string, b Backup) (bool, error) {
	now, err := readStart(path)
	if err != nil {
		return false, fmt.Errorf("storage: compare with a backup: %w", err)
	}
	then, err := readStart(b.Path)
	if err != nil {
		return false, fmt.Errorf("storage: compare with a backup: %w", err)
	}
	return bytes.Equal(now, then), nil
}

func readStart(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, metaPages))
}

// Restore puts the backup in the place of the store's file, which must not be open. The file that was there stays
// beside it under the name that Restore returns, empty if there was none; the backup stays too. At every moment
// there is a whole file under the store's name, the old or the new.
func Restore(path, backup string) (aside string, err error) {
	if aside, err = restore(path, backup); err != nil {
		return aside, fmt.Errorf("storage: restore %s from %s: %w", path, backup, explain(err))
	}
	return aside, nil
}

func restore(path, backup string) (aside string, err error) {
	if err := notInUse(path); err != nil {
		return "", err
	}
	copied, err := copyFile(backup, path)
	if err != nil {
		return "", err
	}
	defer os.Remove(copied)
	if err := Verify(copied); err != nil {
		return "", err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return "", publish(copied, path)
	}
	aside = path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000000000Z")
	if err := os.Link(path, aside); err != nil { // a file system without hard links: for a moment there is no file
		if err := os.Rename(path, aside); err != nil {
			return "", err
		}
	}
	if err := syncFolder(filepath.Dir(path)); err != nil {
		return aside, err
	}
	if err := os.Rename(copied, path); err != nil {
		return aside, err
	}
	return aside, syncFolder(filepath.Dir(path))
}

// notInUse fails with ErrInUse if a process has the file open. What else is wrong with the file does not matter.
func notInUse(path string) (err error) {
	guard(func() error {
		var db *bbolt.DB
		if db, err = openDB(path, true); err == nil {
			return db.Close()
		}
		return nil
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return err
	}
	return nil
}

func (b *bolt) backup(folder string, writes sync.Locker) (Backup, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return Backup{}, err
	}
	b.backingUp.Lock()
	defer b.backingUp.Unlock()
	if err := sweep(folder); err != nil {
		return Backup{}, err
	}
	earlier, err := Backups(folder)
	if err != nil {
		return Backup{}, err
	}
	at := time.Now().UTC()
	if len(earlier) > 0 && !at.After(earlier[0].Time) { // a clock that was put back
		at = earlier[0].Time.Add(1)
	}
	path := filepath.Join(folder, at.Format(backupName))
	writes.Lock()
	copied, err := copyFile(b.path, path)
	writes.Unlock()
	if err != nil {
		return Backup{}, err
	}
	defer os.Remove(copied)
	if err := Verify(copied); err != nil {
		return Backup{}, err
	}
	info, err := os.Stat(copied)
	if err != nil {
		return Backup{}, err
	}
	return Backup{path, at, info.Size()}, publish(copied, path)
}

// sweep removes the copies that a crash left unfinished.
func sweep(folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, f := range files {
		name, _, unfinished := strings.Cut(f.Name(), copySuffix)
		if _, err := time.Parse(backupName, name); err != nil || !unfinished {
			continue
		}
		if err := os.Remove(filepath.Join(folder, f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// prune removes the backups that keep does not ask for.
func prune(folder string, keep Keep) error {
	list, err := Backups(folder)
	if err != nil {
		return err
	}
	for _, b := range keep.surplus(list) {
		if err := os.Remove(b.Path); err != nil {
			return err
		}
	}
	return nil
}

// surplus returns the backups of a list, newest first, that are not kept. The newest always is.
func (k Keep) surplus(list []Backup) (surplus []Backup) {
	k = cmp.Or(k, DefaultKeep)
	days, last, bytes := 0, "", int64(0)
	for n, b := range list {
		day := b.Time.UTC().Format(time.DateOnly)
		first := day != last
		if first {
			days, last = days+1, day
		}
		wanted := n < max(1, k.Last) || first && days <= k.Daily
		if wanted {
			bytes += b.Size
		}
		if !wanted || n > 0 && k.Bytes > 0 && bytes > k.Bytes {
			surplus = append(surplus, b)
		}
	}
	return surplus
}

// offerBackup adds to an ErrDamaged the newest whole backup in the folder. Other errors stay as they are.
func offerBackup(err error, path, folder string) error {
	if !errors.Is(err, ErrDamaged) {
		return err
	}
	damaged := &DamagedError{Path: path, Err: err}
	if folder == "" {
		return damaged
	}
	list, _ := Backups(folder)
	for _, b := range list {
		if Verify(b.Path) == nil {
			damaged.Backup, damaged.Time = b.Path, b.Time
			break
		}
	}
	return damaged
}
