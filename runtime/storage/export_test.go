package storage

import (
	"fmt"

	"go.etcd.io/bbolt"

	"toolshed/runtime/storage/pages"
)

// ApplyEarly is Apply with the fault that the crash test must find: it acknowledges the turn before its commit.
func (s *Store) ApplyEarly(t Turn, entry []byte) *Commit {
	s.Apply(t, entry)
	c := &Commit{done: make(chan struct{})}
	c.settle(nil)
	return c
}

// OpenFailing opens a store in memory whose commits fail with what fail returns.
func OpenFailing(fail func() error) *Store {
	return newStore(failing{&memory{values: map[string][]byte{}}, fail}, nil)
}

type failing struct {
	*memory
	fail func() error
}

func (f failing) commit(turns []*pending, total int64) error {
	if err := f.fail(); err != nil {
		return explain(err)
	}
	return f.memory.commit(turns, total)
}

// OpenMemoryWith is OpenMemory with options.
func OpenMemoryWith(o *Options) *Store { return newStore(&memory{values: map[string][]byte{}}, o) }

const (
	ChunkAbove = chunkAbove
	MinChunk   = minChunk
	MaxChunk   = maxChunk
)

// Split returns the chunks of a large value.
func Split(value []byte) (chunks [][]byte) {
	for _, g := range split(value).groups {
		chunks = append(chunks, g.chunks...)
	}
	return chunks
}

// Surplus returns which of the backups, newest first, a schedule does not keep.
func (k Keep) Surplus(list []Backup) []Backup { return k.surplus(list) }

// CheckedWhole reports whether Open would check every page of the file.
func CheckedWhole(path string) bool { return !pages.Clean(path) }

// FormatVersion is the format that is written.
const FormatVersion = formatVersion

// MarkFormat makes the file say that it has another format.
func (s *Store) MarkFormat(version int) error {
	return s.backend.(*bolt).db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket(metaBucket).Put(formatKey, fmt.Append(nil, format, version))
	})
}

// NoSync makes the store skip every sync, the fault that the power cuts must find.
func (s *Store) NoSync() { s.backend.(*bolt).db.NoSync = true }

// CompactAlways are options with which every Open compacts.
func CompactAlways() *Options { return &Options{compactAbove: -1} }

// ReadLocked opens the file as Open does after its checks, and reads a value.
func ReadLocked(path, key string) (string, error) {
	db, err := openDB(path, false)
	if err != nil {
		return "", err
	}
	b := &bolt{path: path, db: db}
	defer b.close()
	value, _, err := b.get(key)
	return string(value), err
}
