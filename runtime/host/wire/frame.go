// Package wire is what the kernel's half (runtime/host) and the child's half (runtime/host/sandbox) of the gadget host
// say to each other: frames with a length, their kinds and bounds, the queue that writes them, and the few types that
// cross over. Both sides check everything: the kernel because it does not believe a child, the child because a guest
// should not be able to make it send what ends it.
package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Version is the version of the frames; both ends must have the same.
const Version = 3

// Bounds of the protocol, the same on both sides.
const (
	MaxMessage  = 32 << 20         // one Cap'n Web message
	MaxTurn     = 64 << 20         // messages of one turn, and its writes with their cost
	MaxFrame    = MaxTurn + 16<<20 // one frame
	MaxBacklog  = 64 << 20         // bytes of messages that wait for one instance
	MaxUnacked  = 32 << 20         // bytes of turns that an instance may have sent ahead of the kernel
	MaxUnackedN = 512              // the same in turns
	MessageCost = 256              // counted for each message besides its bytes
	MaxMessages = 1 << 14          // messages of one turn
	WriteCost   = 200              // counted for each write besides its bytes
	MaxWrites   = 50_000           // writes of one turn
	MaxHeldN    = 1 << 14          // frames of one instance that wait
	MaxOutbox   = 128 << 20        // bytes that the kernel keeps for a child that does not read
	MaxReport   = 64 << 10         // bytes of a Report
	MaxAttempts = 64               // attempts in it
)

// Kinds of frames, kernel to child.
const (
	Hello   = iota + 1 // version, build, options
	Start              // a Spec
	Deliver            // one message
	Answer             // to Ask: what it cost, an error or none, the result
	Stop               // close the instance
	Ping               // a number; to the child itself
	Ack                // turns and bytes that the kernel is done with
	Probe              // try what must be refused
	Quiet              // a number: is the instance at rest?
)

// Kinds of frames, child to kernel.
const (
	Welcome = iota + 65 // version, build, walls
	Ready               // the instance has started
	Failed              // the instance has ended
	Turn                // writes and messages of one turn
	Ask                 // get or list
	Log                 // one console line
	Pong                // the number of the Ping
	Report              // of Probe
	Woke                // a turn begins that no message began
	Rest                // to Quiet: its number, whether nothing goes on, how many messages were dealt with
)

// Frame is one frame: its kind, the instance it is about (0: the child itself) and its contents.
type Frame struct {
	Kind byte
	Inst uint32
	Body []byte
}

// Head is the length of a frame's head: the length of what follows the first four bytes, kind, instance.
const Head = 9

// InstanceOf returns the instance that a frame's head names.
func InstanceOf(head []byte) uint32 { return binary.LittleEndian.Uint32(head[5:]) }

// ErrFrame is wrapped by errors about malformed frames.
var ErrFrame = errors.New("a frame is malformed")

// Read reads one frame. The body belongs to the caller.
func Read(r *bufio.Reader) (Frame, error) {
	var head [Head]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Frame{}, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n < Head-4 || n > MaxFrame {
		return Frame{}, fmt.Errorf("%w: %d bytes", ErrFrame, n)
	}
	f := Frame{Kind: head[4], Inst: InstanceOf(head[:])}
	n -= Head - 4
	// The announced length is not believed before the bytes are there.
	f.Body = make([]byte, min(n, 1<<20))
	for got := uint32(0); got < n; {
		if got == uint32(len(f.Body)) {
			f.Body = append(f.Body, make([]byte, min(n-got, got))...)
		}
		k, err := io.ReadFull(r, f.Body[got:])
		if err != nil {
			return Frame{}, err
		}
		got += uint32(k)
	}
	return f, nil
}

// Packer builds a frame; each method adds one thing and returns the Packer.
type Packer struct{ B []byte }

// Pack begins a frame.
func Pack(kind byte, inst uint32) *Packer {
	p := &Packer{make([]byte, Head, 256)}
	p.B[4] = kind
	binary.LittleEndian.PutUint32(p.B[5:], inst)
	return p
}

// Uint adds an unsigned number.
func (p *Packer) Uint(v uint64) *Packer {
	p.B = binary.AppendUvarint(p.B, v)
	return p
}

// Int adds a signed number.
func (p *Packer) Int(v int64) *Packer {
	p.B = binary.AppendVarint(p.B, v)
	return p
}

// Text adds a length and a text.
func (p *Packer) Text(s string) *Packer {
	p.Uint(uint64(len(s)))
	p.B = append(p.B, s...)
	return p
}

// Bytes adds a length and bytes.
func (p *Packer) Bytes(b []byte) *Packer {
	p.Uint(uint64(len(b)))
	p.B = append(p.B, b...)
	return p
}

// Bool adds a truth value.
func (p *Packer) Bool(v bool) *Packer {
	if v {
		return p.Uint(1)
	}
	return p.Uint(0)
}

// Done sets the length and returns the frame's bytes.
func (p *Packer) Done() []byte {
	binary.LittleEndian.PutUint32(p.B, uint32(len(p.B)-4))
	return p.B
}

// Unpacker reads a frame's body and keeps the first error. What it returns as bytes is part of the body.
type Unpacker struct {
	B   []byte
	Err error
}

// Uint reads an unsigned number.
func (u *Unpacker) Uint() uint64 {
	v, n := binary.Uvarint(u.B)
	if n <= 0 || u.Err != nil {
		u.Err, u.B = ErrFrame, nil
		return 0
	}
	u.B = u.B[n:]
	return v
}

// Int reads a signed number.
func (u *Unpacker) Int() int64 {
	v, n := binary.Varint(u.B)
	if n <= 0 || u.Err != nil {
		u.Err, u.B = ErrFrame, nil
		return 0
	}
	u.B = u.B[n:]
	return v
}

// Count reads the number of things that take at least one byte each.
func (u *Unpacker) Count() int { return u.CountOf(1, math.MaxInt) }

// CountOf reads the number of things, at most most, that take at least size bytes each. No more is believed than the
// bytes that are left can hold.
func (u *Unpacker) CountOf(size, most int) int {
	n := u.Uint()
	if n > uint64(len(u.B)/size) || n > uint64(most) {
		u.Err, u.B = ErrFrame, nil
		return 0
	}
	return int(n)
}

// Bytes reads bytes; they are part of the body.
func (u *Unpacker) Bytes() []byte {
	n := u.Count()
	if u.Err != nil {
		return nil
	}
	b := u.B[:n:n]
	u.B = u.B[n:]
	return b
}

// Text reads a text.
func (u *Unpacker) Text() string { return string(u.Bytes()) }

// Bool reads a truth value.
func (u *Unpacker) Bool() bool { return u.Uint() != 0 }

// End tells whether all was read, and nothing was malformed.
func (u *Unpacker) End() bool { return u.Err == nil && len(u.B) == 0 }
