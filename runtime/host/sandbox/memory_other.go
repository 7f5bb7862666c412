//go:build !linux

package sandbox

import "errors"

// softMemory bounds the Go heap of the child, softly: the nearer it comes, the more often it is collected. The memories
// of the gadgets are part of it.
const softMemory = 3 << 30

// mapping does not exist here: start images are copied.
type mapping struct{}

func newMapping([]byte) (*mapping, error) {
	return nil, errors.New("start images cannot be mapped here")
}

// linear is a linear memory on the Go heap.
type linear struct {
	v *vm
	b []byte
}

func newLinear(v *vm, _ *mapping) *linear { return &linear{v: v} }

// Reallocate implements experimental.LinearMemory.
func (l *linear) Reallocate(size uint64) []byte {
	if size > uint64(l.v.limit) {
		l.v.refused = true
		return nil
	}
	if size > uint64(cap(l.b)) {
		b := make([]byte, size, min(size+size/4, uint64(l.v.limit)))
		copy(b, l.b)
		l.b = b
	}
	l.b = l.b[:size]
	return l.b
}

// Free implements experimental.LinearMemory.
func (l *linear) Free() { l.b = nil }
