package image

import (
	"encoding/binary"
	"errors"
)

// FindRandom finds the 64-bit state behind Math.random in two pictures of the same memory, with one call of Math.random between
// them. It returns the offset of the state.
func FindRandom(before, after []byte) (uint32, error) {
	found := 0
	for off := 0; off+8 <= min(len(before), len(after)); off += 8 {
		a, b := binary.LittleEndian.Uint64(before[off:]), binary.LittleEndian.Uint64(after[off:])
		if b != a && b == xorshift(a) {
			if found != 0 {
				return 0, errors.New("the engine's random state is ambiguous")
			}
			found = off
		}
	}
	if found == 0 {
		return 0, errors.New("the engine's random state was not found")
	}
	return uint32(found), nil
}

// xorshift is one step of that state (xorshift64*).
func xorshift(x uint64) uint64 {
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	return x
}
