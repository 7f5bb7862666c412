package storage

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"toolshed/runtime/storage/pages"
)

// Verify reads everything in the file of a store that is not open, and fails with ErrDamaged unless it is whole:
// every page in its place, every value, entry and chunk with its checksum, every chunk held as often as it is
// counted. It changes nothing.
func Verify(path string) error {
	err := guard(func() error {
		if err := checkFile(path, pages.Always); err != nil {
			return err
		}
		db, err := openDB(path, true)
		if err != nil {
			return err
		}
		defer closeDB(db)
		return db.View(verify)
	})
	if err != nil {
		return fmt.Errorf("storage: verify %s: %w", path, explain(err))
	}
	return nil
}

func verify(tx *bbolt.Tx) error {
	n, err := version(tx)
	if err != nil {
		return err
	}
	groups := map[hash]int{}
	total, err := verifyRecords(tx, valuesBucket, groups)
	if err != nil {
		return err
	}
	if counted := int64(binary.BigEndian.Uint64(tx.Bucket(metaBucket).Get(bytesKey))); counted != total {
		return bad("it holds %d bytes and says %d", total, counted)
	}
	if _, err := readAlarm(tx); err != nil {
		return err
	}
	if _, err := verifyRecords(tx, entriesBucket, groups); err != nil || n < 2 {
		return err
	}
	return verifyHolders(tx, groups)
}

// verifyRecords reads all records of a bucket, adds the groups that they hold, and returns the bytes of the keys
// and values.
func verifyRecords(tx *bbolt.Tx, bucket []byte, groups map[hash]int) (total int64, err error) {
	c := tx.Bucket(bucket).Cursor()
	for key, record := c.First(); key != nil; key, record = c.Next() {
		value, err := readRecord(tx, key, record)
		if err != nil {
			return 0, err
		}
		total += int64(len(key) + len(value))
		if record[0] != formChunked {
			continue
		}
		_, list, err := chunkedRecord(key, record)
		if err != nil {
			return 0, err
		}
		for h := range slices.Chunk(list, sha256.Size) {
			groups[hash(h)]++
		}
	}
	return total, nil
}

// verifyHolders compares the counted holders of groups and chunks with the real ones, both ways.
func verifyHolders(tx *bbolt.Tx, groups map[hash]int) error {
	shared, counts, chunks := tx.Bucket(sharedBucket), 0, map[hash]int{}
	compare := func(kind byte, h []byte, want int) error {
		key := append([]byte{kind}, h...)
		if n, err := holders(shared, key, true); err != nil || n != want {
			return bad("%x has %d holders and counts %d", h[:4], want, n)
		}
		if want > 1 {
			counts++
		}
		return nil
	}
	err := tx.Bucket(groupsBucket).ForEach(func(h, list []byte) error {
		for child := range slices.Chunk(list, sha256.Size) {
			chunks[hash(child)]++
		}
		return compare(sharedGroup, h, groups[hash(h)])
	})
	if err != nil {
		return err
	}
	err = tx.Bucket(chunksBucket).ForEach(func(h, _ []byte) error { return compare(sharedChunk, h, chunks[hash(h)]) })
	if err != nil {
		return err
	}
	if n := shared.Stats().KeyN; n != counts {
		return bad("it counts the holders of %d chunks, of which %d are there", n, counts)
	}
	return nil
}
