package storage_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"toolshed/runtime/storage"
)

// noise returns bytes that repeat nowhere, the same for the same seed.
func noise(seed uint64, size int) []byte {
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})
	b := make([]byte, size)
	random.Read(b)
	return b
}

func TestSplit(t *testing.T) {
	count, total := 0, 0
	for seed, size := range []int{storage.ChunkAbove + 1, 100_000, 1 << 20, 10 << 20} {
		for _, value := range [][]byte{noise(uint64(seed), size), make([]byte, size), bytes.Repeat([]byte("0123456789abcdef\n"), size/17)} {
			chunks := storage.Split(value)
			if !bytes.Equal(slices.Concat(chunks...), value) {
				t.Fatalf("the chunks of %d bytes are not the value", size)
			}
			for n, c := range chunks {
				if len(c) > storage.MaxChunk || len(c) < storage.MinChunk && n < len(chunks)-1 {
					t.Errorf("chunk %d of %d has %d bytes", n, len(chunks), len(c))
				}
			}
			if value[0] != 0 && value[0] != '0' {
				count, total = count+len(chunks), total+size
			}
		}
	}
	if mean := total / count; mean < 13<<10 || mean > 20<<10 {
		t.Errorf("a chunk has %d bytes on average, want about 16 KiB", mean)
	}
}

// TestSplitFindsItsCutsAgain: an edit anywhere changes the chunks that it touches, and none behind.
func TestSplitFindsItsCutsAgain(t *testing.T) {
	value := noise(7, 2<<20)
	known := map[string]bool{}
	for _, c := range storage.Split(value) {
		known[string(c)] = true
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		at := random.IntN(len(value))
		for what, edited := range map[string][]byte{
			"changed":  slices.Concat(value[:at], []byte{value[at] + 1}, value[at+1:]),
			"inserted": slices.Concat(value[:at], []byte("x"), value[at:]),
			"removed":  slices.Concat(value[:at], value[at+1:]),
		} {
			fresh := 0
			for _, c := range storage.Split(edited) {
				if !known[string(c)] {
					fresh++
				}
			}
			if fresh == 0 || fresh > 4 {
				t.Errorf("a byte %s at %d made %d new chunks of %d", what, at, fresh, len(known))
			}
		}
	}
}
