package storage

import (
	"encoding/binary"
	"slices"
	"strings"

	"go.etcd.io/bbolt"
)

// batch is what the turns of one commit leave: the last write of each key, in the order of the keys. bbolt keeps the
// keys of a page in one slice until the transaction ends, so that keys in any other order cost their number squared.
type batch struct {
	cleared bool
	alarm   *Alarm
	writes  []settled
	entries []settled
}

// settled is a write that nothing later in its commit replaces. A large value is cut.
type settled struct {
	Write
	tree *tree
}

// newBatch merges the turns and cuts what is large. It is done before the transaction, which keeps out readers that
// make the file grow; a document that changes with every turn is cut once a commit.
func newBatch(turns []*pending) *batch {
	b, at := &batch{alarm: lastAlarm(turns)}, map[string]int{}
	for _, p := range turns {
		if p.turn.Clear {
			b.cleared, b.writes = true, nil
			clear(at)
		}
		for _, w := range p.turn.Writes {
			if n, ok := at[w.Key]; ok {
				b.writes[n].Write = w
				continue
			}
			at[w.Key] = len(b.writes)
			b.writes = append(b.writes, settled{Write: w})
		}
		if p.entry != nil {
			b.entries = append(b.entries, settled{Write: Write{Value: p.entry}})
		}
	}
	slices.SortFunc(b.writes, func(a, b settled) int { return strings.Compare(a.Key, b.Key) })
	for _, list := range [][]settled{b.writes, b.entries} {
		for n, w := range list {
			if len(w.Value) > chunkAbove && !w.Delete {
				list[n].tree = split(w.Value)
			}
		}
	}
	return b
}

// put makes the writes.
func (b *batch) put(tx *bbolt.Tx, chunks *chunkTx) error {
	if b.cleared {
		if err := clearValues(tx, chunks); err != nil {
			return err
		}
	}
	values := tx.Bucket(valuesBucket)
	for _, w := range b.writes {
		key := []byte(w.Key)
		err := chunks.release(key, values.Get(key))
		switch {
		case err != nil:
		case w.Delete:
			err = values.Delete(key)
		default:
			err = values.Put(key, w.record(key, chunks))
		}
		if err != nil {
			return err
		}
	}
	if err := putAlarm(tx, b.alarm); err != nil {
		return err
	}
	entries := tx.Bucket(entriesBucket)
	entries.FillPercent = 1 // keys only rise: full pages waste nothing
	for _, e := range b.entries {
		n, err := entries.NextSequence()
		if err != nil {
			return err
		}
		key := binary.BigEndian.AppendUint64(nil, n)
		if err := entries.Put(key, e.record(key, chunks)); err != nil {
			return err
		}
	}
	return nil
}

func (w settled) record(key []byte, chunks *chunkTx) []byte {
	if w.tree != nil {
		return chunks.hold(key, w.tree)
	}
	return makeRecord(key, w.Value)
}
