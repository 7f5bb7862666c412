package sandbox

import (
	"github.com/tetratelabs/wazero/experimental"

	"toolshed/runtime/host/sandbox/linear"
)

// startImage is the linear memory of an engine at rest, with what a vm needs to know about it. It never changes.
type startImage struct {
	ptrs   pointers
	bytes  []byte // nil when mapped
	mapped *linear.Start
}

// newImage keeps a copy of the memory: in a file without a name that each instance maps privately, or, where that
// cannot be had or is not wanted, as bytes that each instance copies.
func newImage(memory []byte, p pointers, copied bool) (*startImage, error) {
	im := &startImage{ptrs: p}
	if !copied {
		if m, err := linear.NewStart(memory); err == nil {
			im.mapped = m
			return im, nil
		}
	}
	im.bytes = append([]byte(nil), memory...)
	return im, nil
}

// memory returns the allocator for an instance that starts from the image.
func (im *startImage) memory(v *vm) experimental.MemoryAllocator {
	return experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory {
		return v.newMemory(im.mapped)
	})
}

// fill puts the image into an instance's memory if it is not there yet.
func (im *startImage) fill(v *vm) {
	if im.mapped == nil {
		v.mem.Write(0, im.bytes)
	}
}

// view returns the image's bytes, which must not be changed.
func (im *startImage) view() []byte {
	if im.mapped != nil {
		return im.mapped.Bytes()
	}
	return im.bytes
}

// freshMemory returns the allocator for an instance that starts from nothing.
func freshMemory(v *vm) experimental.MemoryAllocator {
	return experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory {
		return v.newMemory(nil)
	})
}

func (v *vm) newMemory(from *linear.Start) *linear.Memory {
	v.memory = linear.New(v.limit, from, func() { v.refused = true })
	return v.memory
}
