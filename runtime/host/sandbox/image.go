package sandbox

import (
	"github.com/tetratelabs/wazero/experimental"

	"toolshed/runtime/host/sandbox/linear"
)

// memoryFrom returns the allocator for the vm: its memory starts from the image, or from nothing.
func (v *vm) memoryFrom(im *linear.Image) experimental.MemoryAllocator {
	return experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory {
		refused := func() { v.refused = true }
		if im == nil {
			v.memory = linear.New(v.limit, nil, refused)
		} else {
			v.memory = im.New(v.limit, refused)
		}
		return v.memory
	})
}

// learn tells the image what the start of the vm has changed.
func (v *vm) learn(im *linear.Image) {
	if b, ok := v.mem.Read(0, v.mem.Size()); ok && v.base != nil {
		im.Learn(v.code, b)
	}
}
