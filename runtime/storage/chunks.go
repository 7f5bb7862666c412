package storage

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"go.etcd.io/bbolt"
)

// A large value is a record of form formChunked that lists groups; a group lists chunks. Both are kept once, however
// many values hold them. Every chunk has a bucket of its own: bbolt rewrites a leaf whole when a key in it changes,
// and a chunk must not be rewritten because its neighbour came or went.
var (
	groupsBucket = []byte("groups") // hash -> hashes of chunks
	chunksBucket = []byte("chunks") // hash -> bucket with the chunk under chunkKey
	sharedBucket = []byte("shared") // kind and hash -> how many hold it; one holder is not written down
	chunkKey     = []byte("c")
)

const (
	sharedGroup = 'g' // held by records
	sharedChunk = 'c' // held by groups
)

// chunkTx collects what one transaction takes and gives up, so that what comes and goes in it costs nothing.
type chunkTx struct {
	tx     *bbolt.Tx
	groups map[hash]int   // changes of the number of holders
	fresh  map[hash]group // groups that may be new
}

func newChunkTx(tx *bbolt.Tx) *chunkTx {
	return &chunkTx{tx, map[hash]int{}, map[hash]group{}}
}

// hold counts a new record of the tree and returns the record.
func (c *chunkTx) hold(key []byte, t *tree) []byte {
	record := make([]byte, recordHeader, recordHeader+8+len(t.groups)*sha256.Size)
	record[0] = formChunked
	record = binary.BigEndian.AppendUint64(record, uint64(t.size))
	for _, g := range t.groups {
		record = append(record, g.hash[:]...)
		c.groups[g.hash]++
		c.fresh[g.hash] = g
	}
	binary.BigEndian.PutUint32(record[1:], checksum(key, record[recordHeader:]))
	return record
}

// release counts that a record is gone; nil and records of other forms hold nothing.
func (c *chunkTx) release(key, record []byte) error {
	if len(record) == 0 || record[0] != formChunked {
		return nil
	}
	_, list, err := chunkedRecord(key, record)
	if err != nil {
		return err
	}
	for h := range slices.Chunk(list, sha256.Size) {
		c.groups[hash(h)]--
	}
	return nil
}

// flush writes the groups and chunks that got their first holder and removes those that lost their last.
func (c *chunkTx) flush() error {
	if len(c.groups) == 0 {
		return nil
	}
	chunks, data := map[hash]int{}, map[hash][]byte{}
	groups := c.tx.Bucket(groupsBucket)
	for _, h := range sorted(c.groups) {
		stored := groups.Get(h[:])
		before, after, err := c.count(sharedGroup, h, stored != nil, c.groups[h])
		switch {
		case err != nil:
			return err
		case before == 0 && after > 0:
			g := c.fresh[h]
			for n, part := range g.chunks {
				child := hash(g.list[n*sha256.Size:])
				chunks[child]++
				data[child] = part
			}
			err = groups.Put(h[:], g.list)
		case before > 0 && after == 0:
			var list []byte
			if list, err = verified("group", h[:], stored); err != nil {
				return err
			}
			for child := range slices.Chunk(list, sha256.Size) {
				chunks[hash(child)]--
			}
			err = groups.Delete(h[:])
		}
		if err != nil {
			return err
		}
	}
	return c.flushChunks(chunks, data)
}

func (c *chunkTx) flushChunks(changes map[hash]int, data map[hash][]byte) error {
	chunks := c.tx.Bucket(chunksBucket)
	for _, h := range sorted(changes) {
		before, after, err := c.count(sharedChunk, h, chunks.Bucket(h[:]) != nil, changes[h])
		switch {
		case err != nil:
			return err
		case before == 0 && after > 0:
			var b *bbolt.Bucket
			if b, err = chunks.CreateBucket(h[:]); err == nil {
				err = b.Put(chunkKey, data[h])
			}
		case before > 0 && after == 0:
			err = chunks.DeleteBucket(h[:])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// count changes the number of holders and returns it as it was and as it is.
func (c *chunkTx) count(kind byte, h hash, exists bool, change int) (before, after int, err error) {
	shared, key := c.tx.Bucket(sharedBucket), append([]byte{kind}, h[:]...)
	if before, err = holders(shared, key, exists); err != nil {
		return 0, 0, err
	}
	after = before + change
	switch {
	case after < 0:
		err = fmt.Errorf("%w: %x is held more often than it is there", ErrDamaged, h[:4])
	case change == 0:
	case after > 1:
		err = shared.Put(key, binary.BigEndian.AppendUint32(nil, uint32(after)))
	case before > 1:
		err = shared.Delete(key)
	}
	return before, after, err
}

// holders returns how many hold a group or a chunk.
func holders(shared *bbolt.Bucket, key []byte, exists bool) (int, error) {
	count := shared.Get(key)
	switch {
	case count == nil && exists:
		return 1, nil
	case count == nil:
		return 0, nil
	case !exists || len(count) != 4 || binary.BigEndian.Uint32(count) < 2:
		return 0, fmt.Errorf("%w: the holders of %x are miscounted", ErrDamaged, key[1:5])
	}
	return int(binary.BigEndian.Uint32(count)), nil
}

func sorted(m map[hash]int) []hash {
	return slices.SortedFunc(maps.Keys(m), func(a, b hash) int { return bytes.Compare(a[:], b[:]) })
}

// chunkedRecord returns the size of the value and the hashes of its groups.
func chunkedRecord(key, record []byte) (size int64, groups []byte, err error) {
	const head = recordHeader + 8
	if len(record) < head || (len(record)-head)%sha256.Size != 0 ||
		binary.BigEndian.Uint32(record[1:]) != checksum(key, record[recordHeader:]) {
		return 0, nil, fmt.Errorf("%w: the list of chunks of %.40q is broken", ErrDamaged, key)
	}
	return recordSize(record), record[head:], nil
}

// readChunks returns the value whose chunks the record lists, every one of them verified.
func readChunks(tx *bbolt.Tx, key, record []byte) ([]byte, error) {
	size, list, err := chunkedRecord(key, record)
	if err != nil {
		return nil, err
	}
	value := make([]byte, 0, min(size, tx.Size()))
	groups, chunks := tx.Bucket(groupsBucket), tx.Bucket(chunksBucket)
	for g := range slices.Chunk(list, sha256.Size) {
		children, err := verified("group", g, groups.Get(g))
		if err != nil {
			return nil, fmt.Errorf("%w, needed by %.40q", err, key)
		}
		for h := range slices.Chunk(children, sha256.Size) {
			chunk, err := chunkOf(chunks, h)
			if err != nil {
				return nil, fmt.Errorf("%w, needed by %.40q", err, key)
			}
			value = append(value, chunk...)
		}
	}
	if int64(len(value)) != size {
		return nil, fmt.Errorf("%w: the chunks of %.40q have the wrong size", ErrDamaged, key)
	}
	return value, nil
}

// chunkOf returns the bytes of a chunk in the file.
func chunkOf(chunks *bbolt.Bucket, h []byte) ([]byte, error) {
	b := chunks.Bucket(h)
	if b == nil {
		return verified("chunk", h, nil)
	}
	return verified("chunk", h, b.Get(chunkKey))
}

// verified returns data if it is there and has the hash.
func verified(what string, h, data []byte) ([]byte, error) {
	if data == nil {
		return nil, fmt.Errorf("%w: %s %x is missing", ErrDamaged, what, h[:4])
	}
	if sum := sha256.Sum256(data); !bytes.Equal(sum[:], h) || what == "group" && len(data)%sha256.Size != 0 {
		return nil, fmt.Errorf("%w: %s %x has a wrong checksum", ErrDamaged, what, h[:4])
	}
	return data, nil
}
