//go:build !linux

package linear

import (
	"errors"

	"toolshed/runtime/host/sandbox/image"
)

// SoftLimit bounds the Go heap of the child, softly: the nearer it comes, the more often it is collected. The memories
// of the gadgets are part of it.
const SoftLimit = 3 << 30

// Start does not exist here: start images are copied.
type Start struct{ view []byte }

// NewStart fails.
func NewStart([]byte) (*Start, error) {
	return nil, errors.New("start images cannot be mapped here")
}

// Memory is a linear memory on the Go heap.
type Memory struct {
	limit   int64
	refused func()
	b       []byte
}

// New makes a memory of at most limit bytes. refused is called when it may not grow further.
func New(limit int64, _ *Start, refused func()) *Memory {
	return &Memory{limit: limit, refused: refused}
}

// Reallocate implements experimental.LinearMemory.
func (l *Memory) Reallocate(size uint64) []byte {
	if size > uint64(l.limit) {
		l.refused()
		return nil
	}
	if size > uint64(cap(l.b)) {
		b := make([]byte, size, min(size+size/4, uint64(l.limit)))
		copy(b, l.b)
		l.b = b
	}
	l.b = l.b[:size]
	return l.b
}

// Forget: what was copied is the instance's own.
func (l *Memory) Forget([]image.Run) {}

func (l *Memory) warm([]image.Run) {}

// Free implements experimental.LinearMemory.
func (l *Memory) Free() { l.b = nil }

// Bytes returns the image, which must not be changed.
func (s *Start) Bytes() []byte { return s.view }
