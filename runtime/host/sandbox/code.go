package sandbox

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"toolshed/runtime/guest"
	"toolshed/runtime/host/sandbox/image"
)

// Bounds of the start images of code. They stay in this process: no child writes what another will load.
const (
	arenaSize = 256 << 20 // bytes of all of them together; nothing is taken of it before it is used
	maxRuns   = 40        // mappings of one of them
)

// codeKey names what evaluating code gives: the engine, the prelude, every file with its name, and the memory that it may
// use, because code can find that out.
func (e *engine) codeKey(files map[string][]byte, memory int64) image.Key {
	parts := [][]byte{[]byte(guest.EngineSum), []byte(e.prelude), binary.LittleEndian.AppendUint64(nil, uint64(memory))}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		parts = append(parts, []byte(name), files[name])
	}
	return image.KeyOf(parts...)
}

// lay puts the image of the vm's code over its memory.
func (v *vm) lay() error {
	size := v.mem.Size()
	if more := v.code.Size(); more > size {
		if _, ok := v.mem.Grow((more - size) / pageSize); !ok {
			return memoryFailure(v.limit)
		}
		size = more
	}
	b, ok := v.mem.Read(0, size)
	if !ok {
		return errMemory
	}
	return v.code.Lay(b)
}

// pure tells whether the memory holds nothing that another start of the same code would not have: the guest has asked the
// host for nothing since the vm was made, neither time nor chance among it, was not interrupted, and nothing waits to run.
func (e *engine) pure(v *vm, random uint64) (bool, error) {
	pending, err := v.call(fnJobPending)
	if err != nil {
		return false, err
	}
	now, ok := v.mem.ReadUint64Le(v.ptrs.context + e.random)
	return ok && now == random && !v.touched && !v.turn.Interrupted && !v.importFailed && uint32(pending) == 0 &&
		v.stackPointer() == v.ptrs.stack, nil
}

// keepCode is called when a gadget's code was evaluated and nothing of the gadget itself is there yet. If the code is fit
// for it, its image is kept, and this instance shares its pages with those that start from it later. random is the state
// of Math.random from before.
func (e *engine) keepCode(v *vm, key image.Key, random uint64) error {
	if e.codes == nil || v.code != nil {
		return nil
	}
	if pure, err := e.pure(v, random); err != nil || !pure {
		return err
	}
	// Garbage stays until the engine looks for it by itself: to look for it writes to every object, and so to most pages.
	if err := v.collectAfter(firstGarbage); err != nil {
		return err
	}
	// The state of Math.random is this instance's secret.
	if !v.mem.WriteUint64Le(v.ptrs.context+e.random, 1) {
		return errMemory
	}
	if err := e.keep(v, key); err != nil {
		return err
	}
	return e.seedRandom(v)
}

func (e *engine) keep(v *vm, key image.Key) error {
	b, ok := v.mem.Read(0, v.mem.Size())
	if !ok {
		return errMemory
	}
	im := e.codes.Keep(key, b, image.Differ(e.image.View(), b, maxRuns))
	if im == nil {
		return nil
	}
	v.code = im
	if err := im.Lay(b); err != nil {
		return errors.New("its start image could not be mapped")
	}
	return nil
}

// randomState returns the state of Math.random.
func (e *engine) randomState(v *vm) uint64 {
	x, _ := v.mem.ReadUint64Le(v.ptrs.context + e.random)
	return x
}
