package storage

import (
	"crypto/sha256"
	"encoding/binary"
)

// Values larger than chunkAbove are cut into chunks where their content says so, not at fixed offsets: an insertion
// moves no cut but those next to it, and the chunks beyond stay what they were. The bounds and the table decide
// only which cuts a new value gets; changing them leaves every file readable.
const (
	chunkAbove  = 64 << 10
	minChunk    = 4 << 10
	normalChunk = 16 << 10
	maxChunk    = 32 << 10
	// Before normalChunk bytes a cut needs 16 zero bits of the rolling hash, after it 12: most chunks come out
	// near 16 KiB. The highest bits are taken because they depend on the most bytes.
	rareCut   = uint64(1<<16-1) << 48
	commonCut = uint64(1<<12-1) << 52
	// window is how many bytes the rolling hash remembers: each byte leaves it after 64 shifts.
	window = 64
)

// Lists of chunks are cut likewise, into groups of about 64: an edit of a large value rewrites one group, not a
// list as long as the value.
const (
	minGroup = 16
	maxGroup = 256
	groupCut = 4 // a group ends after a hash whose first byte is smaller: one of 64
)

// hash names a chunk or a group: the SHA-256 of its bytes.
type hash = [sha256.Size]byte

// tree is a large value cut into chunks.
type tree struct {
	size   int64
	groups []group
}

// group is a run of chunks; its list is their hashes one after the other, and its hash that of the list.
type group struct {
	hash   hash
	list   []byte
	chunks [][]byte // parts of the value, not copies
}

// split cuts a value.
func split(value []byte) *tree {
	t := &tree{size: int64(len(value))}
	var g group
	for len(value) > 0 {
		n := cut(value)
		h := sha256.Sum256(value[:n])
		g.list, g.chunks = append(g.list, h[:]...), append(g.chunks, value[:n])
		value = value[n:]
		if count := len(g.chunks); len(value) == 0 || count >= maxGroup || count >= minGroup && h[0] < groupCut {
			g.hash = sha256.Sum256(g.list)
			t.groups = append(t.groups, g)
			g = group{}
		}
	}
	return t
}

// cut returns the size of the chunk at the start of data.
func cut(data []byte) int {
	if len(data) <= minChunk {
		return len(data)
	}
	data = data[:min(len(data), maxChunk)]
	var h uint64
	for _, b := range data[minChunk-window : minChunk] {
		h = h<<1 + gear[b]
	}
	normal := min(len(data), normalChunk)
	for n := minChunk; n < normal; n++ {
		if h = h<<1 + gear[data[n]]; h&rareCut == 0 {
			return n + 1
		}
	}
	for n := normal; n < len(data); n++ {
		if h = h<<1 + gear[data[n]]; h&commonCut == 0 {
			return n + 1
		}
	}
	return len(data)
}

// gear gives every byte a random number, the same on every machine.
var gear = func() (table [256]uint64) {
	for n := range table {
		h := sha256.Sum256([]byte{'g', 'e', 'a', 'r', byte(n)})
		table[n] = binary.BigEndian.Uint64(h[:])
	}
	return table
}()
