package fuel

import (
	"fmt"
	"unicode/utf8"
)

// reader walks over bytes and keeps the first error. After an error every method returns zero and moves nowhere, so
// loops need to look at err only in their condition.
type reader struct {
	b   []byte
	i   int
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("at byte %d: %w", r.i, fmt.Errorf(format, args...))
	}
}

func (r *reader) more() bool { return r.err == nil && r.i < len(r.b) }

func (r *reader) byte() byte {
	if r.err != nil || r.i >= len(r.b) {
		r.fail("unexpected end")
		return 0
	}
	r.i++
	return r.b[r.i-1]
}

func (r *reader) bytes(n uint32) []byte {
	if r.err != nil || uint64(n) > uint64(len(r.b)-r.i) {
		r.fail("unexpected end")
		return nil
	}
	r.i += int(n)
	return r.b[r.i-int(n) : r.i]
}

// u32 reads an unsigned LEB128 number of at most 32 bits. Spare bits must be zero, as the specification asks, so
// that no other reader of the same bytes can see other numbers.
func (r *reader) u32() uint32 {
	var v uint64
	for shift := 0; ; shift += 7 {
		c := r.byte()
		v |= uint64(c&0x7f) << shift
		switch {
		case r.err != nil:
			return 0
		case shift == 28 && c > 0x0f:
			r.fail("a number is too large")
			return 0
		case c < 0x80:
			return uint32(v)
		}
	}
}

// signed reads over a signed LEB128 number of the given size in bits and returns it.
func (r *reader) signed(bits int) int64 {
	var v int64
	for shift := 0; ; shift += 7 {
		c := r.byte()
		v |= int64(c&0x7f) << shift
		if r.err != nil {
			return 0
		}
		if c >= 0x80 {
			if shift+7 >= bits {
				r.fail("a number is too long")
				return 0
			}
			continue
		}
		if left := bits - shift; left < 7 && !spareBitsAgree(c, left) {
			r.fail("a number is too large")
			return 0
		}
		if shift+7 < 64 && c&0x40 != 0 {
			v |= -1 << (shift + 7)
		}
		return v
	}
}

// spareBitsAgree tells whether the bits of the last byte above the left meaningful ones repeat the sign.
func spareBitsAgree(c byte, left int) bool {
	sign := c >> (left - 1) & 1
	spare := (c & 0x7f) >> left
	return spare == 0 && sign == 0 || spare == 0x7f>>left && sign == 1
}

func (r *reader) name() {
	if b := r.bytes(r.u32()); r.err == nil && !utf8.Valid(b) {
		r.fail("a name is not UTF-8")
	}
}

// index reads an index below limit.
func (r *reader) index(limit uint32, of string) uint32 {
	x := r.u32()
	if r.err == nil && x >= limit {
		r.fail("%s %d of %d", of, x, limit)
	}
	return x
}

// count reads the length of a vector whose items take at least one byte each.
func (r *reader) count() uint32 {
	n := r.u32()
	if r.err == nil && uint64(n) > uint64(len(r.b)-r.i) {
		r.fail("unexpected end")
		return 0
	}
	return n
}

// end fails unless everything was read.
func (r *reader) end() {
	if r.err == nil && r.i != len(r.b) {
		r.fail("%d bytes too many", len(r.b)-r.i)
	}
}
