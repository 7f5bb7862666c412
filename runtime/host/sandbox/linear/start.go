package linear

import "toolshed/runtime/host/sandbox/image"

// Image is the memory of an engine at rest, which instances start from. It never changes.
type Image struct {
	bytes  []byte // nil when mapped
	mapped *Start

	bare, laid warmth // for instances that start from it alone, and with an image laid over it
}

// NewImage keeps a copy of a memory: in a file without a name that each instance maps privately, or, where that cannot be
// had or is not wanted, as bytes that each instance copies.
func NewImage(memory []byte, copied bool) *Image {
	if !copied {
		if m, err := NewStart(memory); err == nil {
			return &Image{mapped: m}
		}
	}
	return &Image{bytes: append([]byte(nil), memory...)}
}

// Mapped tells whether instances map the image.
func (im *Image) Mapped() bool { return im.mapped != nil }

// View returns the image's bytes, which must not be changed.
func (im *Image) View() []byte {
	if im.mapped != nil {
		return im.mapped.Bytes()
	}
	return im.bytes
}

// New is the function New with the image in the memory, if it is mapped; else the caller copies View.
func (im *Image) New(limit int64, refused func()) *Memory { return New(limit, im.mapped, refused) }

// Learn is told the memory of an instance that has just started, and what was laid over it, nil for nothing. Only the first
// few of a kind count.
func (im *Image) Learn(laid *image.Image, memory []byte) {
	if im.mapped != nil {
		im.warmth(laid).learn(func() []image.Run { return image.Changed(im.View(), laid, memory) })
	}
}

// Warm copies the pages that all instances that Learn heard of have written to, and makes the rest readable, before an
// instance runs: one call instead of a fault for each of them, which also stops the process's other threads.
func (im *Image) Warm(laid *image.Image, m *Memory) {
	if im.mapped != nil {
		m.warm(im.warmth(laid).pages())
	}
}

func (im *Image) warmth(laid *image.Image) *warmth {
	if laid != nil {
		return &im.laid
	}
	return &im.bare
}
