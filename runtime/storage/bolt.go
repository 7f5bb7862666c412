package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"toolshed/runtime/storage/pages"
)

// bolt is the backend in a bbolt file.
type bolt struct {
	path    string
	backups string // folder of the backups to offer; may be empty
	db      *bbolt.DB
	doubted atomic.Bool // a commit failed, or something read was not what was written: no clean close

	backingUp sync.Mutex
}

func (b *bolt) get(key string) (value []byte, ok bool, err error) {
	err = b.view(func(tx *bbolt.Tx) error {
		record := tx.Bucket(valuesBucket).Get([]byte(key))
		if record == nil {
			return nil
		}
		ok = true
		value, err = readRecord(tx, []byte(key), record)
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

func (b *bolt) scan(s span, reverse bool, visit visitor) error {
	return b.view(func(tx *bbolt.Tx) error {
		c := tx.Bucket(valuesBucket).Cursor()
		key, record := first(c, s, reverse)
		for key != nil && s.contains(string(key)) {
			more, err := visit(string(key), recordSize(record), func() ([]byte, error) { return readRecord(tx, key, record) })
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
	all := newBatch(turns)
	err := guard(func() error {
		return b.db.Update(func(tx *bbolt.Tx) error {
			chunks := newChunkTx(tx)
			if err := all.put(tx, chunks); err != nil {
				return err
			}
			if err := chunks.flush(); err != nil {
				return err
			}
			return tx.Bucket(metaBucket).Put(bytesKey, binary.BigEndian.AppendUint64(nil, uint64(total)))
		})
	})
	return b.explain("commit", err)
}

// clearValues removes all values. Entries keep what they hold.
func clearValues(tx *bbolt.Tx, chunks *chunkTx) error {
	c := tx.Bucket(valuesBucket).Cursor()
	for key, record := c.First(); key != nil; key, record = c.Next() {
		if err := chunks.release(key, record); err != nil {
			return err
		}
	}
	if err := tx.DeleteBucket(valuesBucket); err != nil {
		return err
	}
	_, err := tx.CreateBucket(valuesBucket)
	return err
}

func (b *bolt) bytes() (n int64, err error) {
	err = b.view(func(tx *bbolt.Tx) error {
		n = int64(binary.BigEndian.Uint64(tx.Bucket(metaBucket).Get(bytesKey)))
		return nil
	})
	return n, err
}

func (b *bolt) alarm() (a Alarm, err error) {
	err = b.view(func(tx *bbolt.Tx) error {
		a, err = readAlarm(tx)
		return err
	})
	return a, err
}

func (b *bolt) since(after uint64, visit func(uint64, []byte) bool) error {
	return b.view(func(tx *bbolt.Tx) error {
		c := tx.Bucket(entriesBucket).Cursor()
		for key, record := c.Seek(binary.BigEndian.AppendUint64(nil, after+1)); key != nil; key, record = c.Next() {
			entry, err := readRecord(tx, key, record)
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

// close lets go of the file, and marks it clean if nothing went wrong.
func (b *bolt) close() error {
	if !b.doubted.Load() {
		pages.MarkClean(b.path)
	}
	return b.explain("close", closeDB(b.db))
}

// closeDB closes a database. One whose damage broke off a transaction may hold bbolt's locks for ever: it is waited
// for only so long.
func closeDB(db *bbolt.DB) error {
	closed := make(chan error, 1)
	go func() { closed <- guard(db.Close) }()
	select {
	case err := <-closed:
		return err
	case <-time.After(5 * time.Second):
		return fmt.Errorf("%w: a broken transaction holds it", ErrDamaged)
	}
}

func (b *bolt) explain(operation string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("storage: %s %s: %w", operation, b.path, explain(err))
	if operation == "commit" || errors.Is(err, ErrDamaged) {
		b.doubted.Store(true)
	}
	return offerBackup(err, b.path, b.backups)
}
