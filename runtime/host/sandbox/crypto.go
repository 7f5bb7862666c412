package sandbox

import (
	"encoding/binary"
	"fmt"

	"toolshed/runtime/host/sandbox/subtle"
)

// The host functions behind crypto.subtle. They touch nothing outside the guest, so an image may be made over them.
// Results go into a buffer that the guest brings.

func hostDigest(v *vm, a args) (uint32, error) {
	name, err := a.text(0)
	if err != nil {
		return 0, err
	}
	b, err := a.bytes(1, 2)
	if err != nil {
		return 0, err
	}
	return 0, subtle.Digest(name, b[0], b[1], v.goOn)
}

func hostHMAC(v *vm, a args) (uint32, error) {
	name, err := a.text(0)
	if err != nil {
		return 0, err
	}
	b, err := a.bytes(1, 2, 3)
	if err != nil {
		return 0, err
	}
	return 0, subtle.HMAC(name, b[0], b[1], b[2], v.goOn)
}

func hostSeal(_ *vm, a args) (uint32, error) {
	b, err := a.bytes(0, 1, 2, 3, 4)
	if err != nil {
		return 0, err
	}
	return 0, subtle.Seal(b[0], b[1], b[2], b[3], b[4])
}

func hostOpen(v *vm, a args) (uint32, error) {
	b, err := a.bytes(0, 1, 2, 3, 4)
	if err != nil {
		return 0, err
	}
	ok, err := subtle.Open(b[0], b[1], b[2], b[3], b[4])
	if err != nil {
		return 0, err
	}
	return v.boolean(ok)
}

func hostEqual(v *vm, a args) (uint32, error) {
	b, err := a.bytes(0, 1)
	if err != nil {
		return 0, err
	}
	return v.boolean(subtle.Equal(b[0], b[1]))
}

// longWork is how many bytes keep the host longer than a moment.
const longWork = 256 << 10

// goOn is asked in the middle of long work of the host: it is a tick like those of the guest's own code.
func (v *vm) goOn() {
	var st [1]uint64
	if v.tick(st[:]); st[0] != 0 {
		v.stop(v.why())
	}
}

// bytes returns the bytes of arguments that must be views on bytes: the guest's own memory, good until the next call
// into the engine.
func (a args) bytes(positions ...int) ([][]byte, error) {
	out := make([][]byte, len(positions))
	spans, whole := make([][2]uint32, len(positions)), uint32(0)
	for n, k := range positions {
		at, size, err := a.span(k)
		if err != nil {
			return nil, err
		}
		spans[n] = [2]uint32{at, size}
		whole += min(size, longWork+1)
	}
	if whole > longWork {
		a.v.lasting()
	}
	for n, s := range spans { // only now: looking for a span may grow the memory, which may move it
		var ok bool
		if out[n], ok = a.v.mem.Read(s[0], s[1]); !ok {
			return nil, errMemory
		}
	}
	return out, nil
}

// span finds where the bytes of a Uint8Array are.
func (a args) span(k int) (at, size uint32, err error) {
	v, wrong := a.v, fmt.Errorf("argument %d must be a Uint8Array", k+1)
	if k >= len(a.handles) {
		return 0, 0, wrong
	}
	// The engine stores four words there: offset, length, the size of an item, and the length of the buffer.
	s := v.ptrs.scratch + 16
	buffer, err := v.call32(fnViewBuffer, uint64(a.handles[k]), uint64(s), uint64(s+4), uint64(s+8))
	if err != nil {
		return 0, 0, v.failure(err)
	}
	defer v.free(buffer)
	is, err := v.call32(fnIsException, uint64(buffer))
	if err != nil {
		return 0, 0, v.failure(err)
	}
	if is != 0 {
		return 0, 0, firstOf(v.dropException(), wrong)
	}
	data, err := v.call32(fnBufferData, uint64(buffer), uint64(s+12))
	if err != nil {
		return 0, 0, v.failure(err)
	}
	b, ok := v.mem.Read(s, 16)
	if !ok {
		return 0, 0, errMemory
	}
	offset, size, item, whole := word(b), word(b[4:]), word(b[8:]), word(b[12:])
	switch {
	case item != 1:
		return 0, 0, wrong
	case size == 0:
		return 0, 0, nil
	case data == 0: // detached
		return 0, 0, firstOf(v.dropException(), wrong)
	case uint64(offset)+uint64(size) > uint64(whole):
		return 0, 0, wrong
	}
	return data + offset, size, nil
}

func word(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
