package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
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

func (b *bolt) scan(s span, reverse bool, visit func(string, func() ([]byte, error)) (bool, error)) error {
	return b.view(func(tx *bbolt.Tx) error {
		c := tx.Bucket(valuesBucket).Cursor()
		key, record := first(c, s, reverse)
		for key != nil && s.contains(string(key)) {
			more, err := visit(string(key), func() ([]byte, error) { return readRecord(tx, key, record) })
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
	trees := splitLarge(turns)
	err := guard(func() error {
		return b.db.Update(func(tx *bbolt.Tx) error {
			chunks := newChunkTx(tx)
			for n, p := range turns {
				if err := commitTurn(tx, chunks, p, trees[n]); err != nil {
					return err
				}
			}
			if err := chunks.flush(); err != nil {
				return err
			}
			return tx.Bucket(metaBucket).Put(bytesKey, binary.BigEndian.AppendUint64(nil, uint64(total)))
		})
	})
	return b.explain("commit", err)
}

// trees are a turn's large values, cut: by the index of their write, and the entry's.
type trees struct {
	writes map[int]*tree
	entry  *tree
}

// splitLarge cuts the large values of the turns, but not those that the same commit replaces: a document that
// changes with every turn is cut once a commit. It is done before the transaction, which keeps out readers that
// make the file grow.
func splitLarge(turns []*pending) []trees {
	all, later, cleared := make([]trees, len(turns)), map[string]bool{}, false
	for n, p := range slices.Backward(turns) {
		if len(p.entry) > chunkAbove {
			all[n].entry = split(p.entry)
		}
		for i, w := range slices.Backward(p.turn.Writes) {
			if len(w.Value) > chunkAbove && !w.Delete && !cleared && !later[w.Key] {
				if all[n].writes == nil {
					all[n].writes = map[int]*tree{}
				}
				all[n].writes[i] = split(w.Value)
			}
			later[w.Key] = true
		}
		cleared = cleared || p.turn.Clear
	}
	return all
}

func commitTurn(tx *bbolt.Tx, chunks *chunkTx, p *pending, large trees) error {
	if p.turn.Clear {
		if err := clearValues(tx, chunks); err != nil {
			return err
		}
	}
	values := tx.Bucket(valuesBucket)
	for n, w := range p.turn.Writes {
		if len(w.Value) > chunkAbove && !w.Delete && large.writes[n] == nil {
			continue // replaced later in this commit
		}
		key := []byte(w.Key)
		err := chunks.release(key, values.Get(key))
		switch {
		case err != nil:
		case w.Delete:
			err = values.Delete(key)
		case large.writes[n] != nil:
			err = values.Put(key, chunks.hold(key, large.writes[n]))
		default:
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
	if large.entry != nil {
		return entries.Put(key, chunks.hold(key, large.entry))
	}
	return entries.Put(key, makeRecord(key, p.entry))
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
		markClean(b.path)
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
