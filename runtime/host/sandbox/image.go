package sandbox

import (
	"github.com/tetratelabs/wazero/experimental"
)

// image is the linear memory of an engine at rest, with what a vm needs to know about it. It never changes.
type image struct {
	ptrs   pointers
	bytes  []byte // nil when mapped
	mapped *mapping
}

// newImage keeps a copy of the memory: in a file without a name that each instance maps privately, or, where that
// cannot be had or is not wanted, as bytes that each instance copies.
func newImage(memory []byte, p pointers, copied bool) (*image, error) {
	im := &image{ptrs: p}
	if !copied {
		if m, err := newMapping(memory); err == nil {
			im.mapped = m
			return im, nil
		}
	}
	im.bytes = append([]byte(nil), memory...)
	return im, nil
}

// memory returns the allocator for an instance that starts from the image.
func (im *image) memory(v *vm) experimental.MemoryAllocator {
	return experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory {
		return newLinear(v, im.mapped)
	})
}

// fill puts the image into an instance's memory if it is not there yet.
func (im *image) fill(v *vm) {
	if im.mapped == nil {
		v.mem.Write(0, im.bytes)
	}
}

// freshMemory returns the allocator for an instance that starts from nothing.
func freshMemory(v *vm) experimental.MemoryAllocator {
	return experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory {
		return newLinear(v, nil)
	})
}
