package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"toolshed/runtime/storage/pages"
)

// format and a number is what a file says of itself in the meta bucket.
//
//	1: values of all sizes are inline
//	2: values of more than 64 KiB may be in chunks
//	3: there may be an alarm, which a program that knows only 2 would keep and never give
const (
	format        = "toolshed gadget storage "
	formatVersion = 3
)

// lockTimeout is how long Open waits for another process to let go of the file.
const lockTimeout = 200 * time.Millisecond

// minFile is the size of an empty store with the smallest pages that a machine has: bbolt would fill a shorter file
// as if it were new.
const minFile = 4 * 4096

var (
	metaBucket    = []byte("meta")    // "format", "bytes", "alarm"
	valuesBucket  = []byte("values")  // key -> record
	entriesBucket = []byte("entries") // big-endian sequence -> record
	formatKey     = []byte("format")
	bytesKey      = []byte("bytes")
)

// Open opens the store in the file, or creates it with mode 0600. A file that is not a whole store is refused with
// a DamagedError, which is also ErrDamaged, and left alone. A file of an earlier format is brought up to date.
//
// Every page of the file is checked first, unless the file was closed and not written since: then only the pages
// that lead to others are.
func Open(path string, o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	b, err := openBolt(path, o)
	if err != nil {
		return nil, offerBackup(fmt.Errorf("storage: open %s: %w", path, err), path, o.Backups)
	}
	return newStore(b, o), nil
}

func openBolt(path string, o *Options) (*bolt, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := create(path); err != nil {
			return nil, explain(err)
		}
	}
	b := &bolt{path: path, backups: o.Backups}
	err := guard(func() error {
		if err := b.open(); err != nil || !b.roomy(o.compactAbove) {
			return err
		}
		b.compact()
		if err := closeDB(b.db); err != nil {
			return err
		}
		b.db = nil
		return b.open()
	})
	if err != nil {
		if b.db != nil {
			b.doubted.Store(true)
			b.close()
		}
		return nil, explain(err)
	}
	return b, nil
}

// open checks the file and opens it.
func (b *bolt) open() (err error) {
	if err := checkFile(b.path, pages.UnlessClean); err != nil {
		return err
	}
	if b.db, err = openDB(b.path, false); err != nil {
		b.db = nil
		return err
	}
	return migrate(b.db)
}

// openDB opens and locks the file of that name. While it waits for the lock another file may get the name, by Restore
// or a compaction: then the lock is worth nothing, and the new one is opened.
func openDB(path string, readOnly bool) (*bbolt.DB, error) {
	for range 3 {
		var file *os.File
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout:      lockTimeout,
			FreelistType: bbolt.FreelistMapType,
			ReadOnly:     readOnly,
			OpenFile: func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
				file, err = os.OpenFile(name, flag&^os.O_CREATE, mode)
				return file, err
			},
		})
		if err != nil {
			return nil, err
		}
		locked, err := file.Stat()
		named, missing := os.Stat(path)
		if err == nil && missing == nil && os.SameFile(locked, named) {
			return db, nil
		}
		db.Close()
	}
	return nil, ErrInUse
}

// checkFile looks at the pages of the file before bbolt follows a pointer in it.
func checkFile(path string, depth pages.Depth) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() && info.Size() < minFile {
		return bad("it is too short")
	}
	db, err := openDB(path, true)
	if err != nil {
		return err
	}
	defer db.Close()
	err = pages.Check(path, depth, chunksBucket)
	var broken pages.Broken
	if errors.As(err, &broken) {
		return bad("%s", broken)
	}
	return err
}

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// version returns the format of the database and refuses one that is not ours.
func version(tx *bbolt.Tx) (int, error) {
	foreign := fmt.Errorf("%w: it is not a gadget's storage", ErrDamaged)
	meta := tx.Bucket(metaBucket)
	if meta == nil || tx.Bucket(valuesBucket) == nil || tx.Bucket(entriesBucket) == nil {
		return 0, foreign
	}
	name := string(meta.Get(formatKey))
	number, ours := strings.CutPrefix(name, format)
	n, err := strconv.Atoi(number)
	if !ours || err != nil || n < 1 {
		return 0, foreign
	}
	if n > formatVersion {
		return 0, fmt.Errorf("%w: %q", ErrFormat, name)
	}
	if len(meta.Get(bytesKey)) != 8 {
		return 0, fmt.Errorf("%w: its size record is missing", ErrDamaged)
	}
	if n >= 2 && (tx.Bucket(groupsBucket) == nil || tx.Bucket(chunksBucket) == nil || tx.Bucket(sharedBucket) == nil) {
		return 0, fmt.Errorf("%w: its chunks are missing", ErrDamaged)
	}
	return n, nil
}

// migrate brings a file of an earlier format up to date. Large values of format 1 stay inline until they are
// written again.
func migrate(db *bbolt.DB) error {
	n := 0
	err := db.View(func(tx *bbolt.Tx) (err error) {
		n, err = version(tx)
		return err
	})
	if err != nil || n == formatVersion {
		return err
	}
	return db.Update(func(tx *bbolt.Tx) error {
		if n == 1 {
			if err := makeChunkBuckets(tx); err != nil {
				return err
			}
		}
		return markFormat(tx)
	})
}

func markFormat(tx *bbolt.Tx) error {
	return tx.Bucket(metaBucket).Put(formatKey, fmt.Append(nil, format, formatVersion))
}

func makeChunkBuckets(tx *bbolt.Tx) error {
	for _, name := range [][]byte{groupsBucket, chunksBucket, sharedBucket} {
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	return nil
}

// create makes an empty store under another name and gives it its own once it is whole, so that a file of that
// name is never half made.
func create(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+copySuffix+"*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	f.Close()
	db, err := openDB(f.Name(), false)
	if err != nil {
		return err
	}
	db.NoSync, db.NoGrowSync = true, true // one sync at the end will do: before it the file has no name that counts
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{metaBucket, valuesBucket, entriesBucket} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		if err := tx.Bucket(metaBucket).Put(bytesKey, make([]byte, 8)); err != nil {
			return err
		}
		if err := makeChunkBuckets(tx); err != nil {
			return err
		}
		return markFormat(tx)
	})
	if err = errors.Join(err, db.Sync(), db.Close()); err != nil {
		return err
	}
	if err := publish(f.Name(), path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil // another process was faster: its file stays
}

// publish gives a finished file its name, unless there is a file of that name: then it fails with fs.ErrExist.
func publish(from, to string) error {
	err := os.Link(from, to)
	if err != nil && !errors.Is(err, fs.ErrExist) { // a file system without hard links
		if _, missing := os.Lstat(to); errors.Is(missing, fs.ErrNotExist) {
			err = os.Rename(from, to)
		}
	}
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(to))
}
