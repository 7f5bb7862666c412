package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

// format is what a file says of itself in the meta bucket. A later format has another number.
const format = "toolshed gadget storage 1"

// lockTimeout is how long Open waits for another process to let go of the file.
const lockTimeout = 200 * time.Millisecond

// minFile is the size of an empty store with the smallest pages that a machine has: bbolt would fill a shorter file
// as if it were new.
const minFile = 4 * 4096

var (
	metaBucket    = []byte("meta")    // "format", "bytes"
	valuesBucket  = []byte("values")  // key -> record
	entriesBucket = []byte("entries") // big-endian sequence -> record
	formatKey     = []byte("format")
	bytesKey      = []byte("bytes")
)

// Open opens the store in the file, or creates it with mode 0600. A file that is not a whole store is refused
// with ErrDamaged and left alone.
func Open(path string, o *Options) (*Store, error) {
	b, err := openBolt(path)
	if err != nil {
		return nil, fmt.Errorf("storage: open %s: %w", path, err)
	}
	return newStore(b, o), nil
}

// bolt is the backend in a bbolt file.
type bolt struct {
	path string
	db   *bbolt.DB
}

func openBolt(path string) (*bolt, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := create(path); err != nil {
			return nil, explain(err)
		}
	}
	b := &bolt{path: path}
	err := guard(func() error {
		if err := checkFile(path); err != nil {
			return err
		}
		db, err := openDB(path, false)
		if err != nil {
			return err
		}
		b.db = db
		return db.View(checkFormat)
	})
	if err != nil {
		if b.db != nil {
			b.close()
		}
		return nil, explain(err)
	}
	return b, nil
}

func openDB(path string, readOnly bool) (*bbolt.DB, error) {
	return bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout:      lockTimeout,
		FreelistType: bbolt.FreelistMapType,
		ReadOnly:     readOnly,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			return os.OpenFile(name, flag&^os.O_CREATE, mode)
		},
	})
}

// checkFile looks at every page of the file before bbolt follows a pointer in it.
func checkFile(path string) error {
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
	return checkPages(path)
}

// checkFormat refuses a database that is not one of ours.
func checkFormat(tx *bbolt.Tx) error {
	meta := tx.Bucket(metaBucket)
	if meta == nil || tx.Bucket(valuesBucket) == nil || tx.Bucket(entriesBucket) == nil {
		return fmt.Errorf("%w: it is not a gadget's storage", ErrDamaged)
	}
	switch got := string(meta.Get(formatKey)); {
	case got == format:
	case len(got) >= len(format) && got[:len(format)-1] == format[:len(format)-1]:
		return fmt.Errorf("%w: %q", ErrFormat, got)
	default:
		return fmt.Errorf("%w: it is not a gadget's storage", ErrDamaged)
	}
	if len(meta.Get(bytesKey)) != 8 {
		return fmt.Errorf("%w: its size record is missing", ErrDamaged)
	}
	return nil
}

// create makes an empty store under another name and gives it its own once it is whole, so that a file of that
// name is never half made.
func create(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	f.Close()
	db, err := openDB(f.Name(), false)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{metaBucket, valuesBucket, entriesBucket} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		meta := tx.Bucket(metaBucket)
		if err := meta.Put(bytesKey, make([]byte, 8)); err != nil {
			return err
		}
		return meta.Put(formatKey, []byte(format))
	})
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	return publish(f.Name(), path)
}

// publish gives a finished file its name, unless another process was faster: then that one's file stays.
func publish(from, to string) error {
	err := os.Link(from, to)
	if err != nil && !errors.Is(err, fs.ErrExist) { // a file system without hard links
		if _, missing := os.Lstat(to); errors.Is(missing, fs.ErrNotExist) {
			err = os.Rename(from, to)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(filepath.Dir(to))
}

func (b *bolt) get(key string) (value []byte, ok bool, err error) {
	err = b.view(func(tx *bbolt.Tx) error {
		record := tx.Bucket(valuesBucket).Get([]byte(key))
		if record == nil {
			return nil
		}
		ok = true
		value, err = readRecord([]byte(key), record)
		return err
	})
	return value, ok, err
}

func (b *bolt) size(key string) (n int64, ok bool, err error) {
	err = b.view(func(tx *bbolt.Tx) error {
		if record := tx.Bucket(valuesBucket).Get([]byte(key)); record != nil {
			n, ok = recordSize(record), true
		}
		return nil
	})
	return n, ok, err
}

func (b *bolt) scan(s span, reverse bool, visit func(string, func() ([]byte, error)) (bool, error)) error {
	return b.view(func(tx *bbolt.Tx) error {
		c := tx.Bucket(valuesBucket).Cursor()
		key, record := first(c, s, reverse)
		for key != nil && s.contains(string(key)) {
			more, err := visit(string(key), func() ([]byte, error) { return readRecord(key, record) })
			if err != nil || !more {
				return err
			}
			if reverse {
				key, record = c.Prev()
			} else {
				key, record = c.Next()
			}
		}
		return nil
	})
}

// first moves the cursor to the first key of the range in list order.
func first(c *bbolt.Cursor, s span, reverse bool) (key, record []byte) {
	if !reverse {
		return c.Seek([]byte(s.lo))
	}
	if s.hi == "" {
		return c.Last()
	}
	if key, _ := c.Seek([]byte(s.hi)); key == nil {
		return c.Last()
	}
	return c.Prev()
}

func (b *bolt) commit(turns []*pending, total int64) error {
	err := guard(func() error {
		return b.db.Update(func(tx *bbolt.Tx) error {
			for _, p := range turns {
				if err := commitTurn(tx, p); err != nil {
					return err
				}
			}
			return tx.Bucket(metaBucket).Put(bytesKey, binary.BigEndian.AppendUint64(nil, uint64(total)))
		})
	})
	return b.explain("commit", err)
}

func commitTurn(tx *bbolt.Tx, p *pending) error {
	if p.turn.Clear {
		if err := tx.DeleteBucket(valuesBucket); err != nil {
			return err
		}
		if _, err := tx.CreateBucket(valuesBucket); err != nil {
			return err
		}
	}
	values := tx.Bucket(valuesBucket)
	for _, w := range p.turn.Writes {
		var err error
		if key := []byte(w.Key); w.Delete {
			err = values.Delete(key)
		} else {
			err = values.Put(key, makeRecord(key, w.Value))
		}
		if err != nil {
			return err
		}
	}
	if p.entry == nil {
		return nil
	}
	entries := tx.Bucket(entriesBucket)
	entries.FillPercent = 1 // keys only rise: full pages waste nothing
	n, err := entries.NextSequence()
	if err != nil {
		return err
	}
	key := binary.BigEndian.AppendUint64(nil, n)
	return entries.Put(key, makeRecord(key, p.entry))
}

func (b *bolt) bytes() (n int64, err error) {
	err = b.view(func(tx *bbolt.Tx) error {
		n = int64(binary.BigEndian.Uint64(tx.Bucket(metaBucket).Get(bytesKey)))
		return nil
	})
	return n, err
}

func (b *bolt) since(after uint64, visit func(uint64, []byte) bool) error {
	return b.view(func(tx *bbolt.Tx) error {
		c := tx.Bucket(entriesBucket).Cursor()
		for key, record := c.Seek(binary.BigEndian.AppendUint64(nil, after+1)); key != nil; key, record = c.Next() {
			entry, err := readRecord(key, record)
			if err != nil {
				return err
			}
			if len(key) != 8 {
				return fmt.Errorf("%w: an entry has no number", ErrDamaged)
			}
			if !visit(binary.BigEndian.Uint64(key), entry) {
				return nil
			}
		}
		return nil
	})
}

// view runs one read transaction.
func (b *bolt) view(read func(*bbolt.Tx) error) error {
	return b.explain("read", guard(func() error { return b.db.View(read) }))
}

// close lets go of the file. A file whose damage broke off a transaction may hold bbolt's locks for ever: it is
// waited for only so long.
func (b *bolt) close() error {
	closed := make(chan error, 1)
	go func() { closed <- guard(b.db.Close) }()
	select {
	case err := <-closed:
		return b.explain("close", err)
	case <-time.After(5 * time.Second):
		return fmt.Errorf("storage: close %s: %w: a broken transaction holds it", b.path, ErrDamaged)
	}
}

func (b *bolt) explain(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("storage: %s %s: %w", operation, b.path, explain(err))
}
