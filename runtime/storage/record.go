package storage

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"go.etcd.io/bbolt"
)

// A record is what the file keeps under a key: one byte for its form, a checksum of key and value, the value.
// bbolt keeps no checksum of its pages, so a flipped bit would otherwise be a wrong value without an error.
const (
	formInline   = 0 // the value itself
	formChunked  = 1 // its size in 8 bytes, then the hashes of its groups of chunks
	recordHeader = 5
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// makeRecord makes the record of a value that is not chunked.
func makeRecord(key, value []byte) []byte {
	record := make([]byte, recordHeader, recordHeader+len(value))
	record[0] = formInline
	binary.BigEndian.PutUint32(record[1:], checksum(key, value))
	return append(record, value...)
}

// readRecord returns a copy of the value that the record keeps.
func readRecord(tx *bbolt.Tx, key, record []byte) ([]byte, error) {
	if len(record) > 0 && record[0] == formChunked {
		return readChunks(tx, key, record)
	}
	if len(record) < recordHeader || record[0] != formInline {
		return nil, fmt.Errorf("%w: the value of %.40q has an unknown form", ErrDamaged, key)
	}
	value := slices.Clone(record[recordHeader:])
	if binary.BigEndian.Uint32(record[1:]) != checksum(key, value) {
		return nil, fmt.Errorf("%w: the value of %.40q has a wrong checksum", ErrDamaged, key)
	}
	if value == nil {
		value = []byte{}
	}
	return value, nil
}

// recordSize returns the size of the value that the record keeps.
func recordSize(record []byte) int64 {
	if len(record) >= recordHeader+8 && record[0] == formChunked {
		return int64(binary.BigEndian.Uint64(record[recordHeader:]))
	}
	return int64(max(0, len(record)-recordHeader))
}

func checksum(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
}
