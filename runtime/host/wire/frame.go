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
	"sync"
)

// Version is the version of the frames; both ends must have the same.
const Version = 1

// Bounds of the protocol, the same on both sides.
const (
	MaxMessage  = 32 << 20         // one Cap'n Web message
	MaxTurn     = 64 << 20         // writes and messages of one turn
	MaxFrame    = MaxTurn + 16<<20 // one frame
	MaxBacklog  = 64 << 20         // bytes of messages that wait for one instance
	MaxUnacked  = 32 << 20         // bytes of turns that an instance may have sent ahead of the kernel
	MessageCost = 256              // counted for each message besides its bytes
	MaxUnackedN = 512              // the same in turns
	MaxHeldN    = 1 << 14          // frames of one instance that wait, and messages of one turn
)

// Kinds of frames, kernel to child.
const (
	Hello   = iota + 1 // version, build, options
	Start              // a Spec
	Deliver            // one message
	Answer             // to Ask
	Stop               // close the instance
	Ping               // to the child itself
	Ack                // turns and bytes that the kernel is done with
	Probe              // try what must be refused
)

// Kinds of frames, child to kernel.
const (
	Welcome = iota + 65 // version, build, walls
	Ready               // the instance has started
	Failed              // the instance has ended
	Turn                // writes and messages of one turn
	Ask                 // get or list
	Log                 // one console line
	Pong
	Report // of Probe
)

// Frame is one frame: its kind, the instance it is about (0: the child itself) and its contents.
type Frame struct {
	Kind byte
	Inst uint32
	Body []byte
}

// Head is the length of a frame's head: the length of what follows the first four bytes, kind, instance.
const Head = 9

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
	f := Frame{Kind: head[4], Inst: binary.LittleEndian.Uint32(head[5:])}
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
func (u *Unpacker) Count() int {
	n := u.Uint()
	if n > uint64(len(u.B)) {
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

// Outbox writes frames in order from a goroutine of its own, so that nobody who sends waits for the other end.
type Outbox struct {
	w     io.Writer
	mu    sync.Mutex
	room  *sync.Cond // signalled when the queue was taken or the Outbox closed
	queue [][]byte
	bytes int
	busy  bool // somebody is writing
	wake  chan struct{}
	done  chan struct{} // closed by close or a failed write
	once  sync.Once
}

// NewOutbox returns an outbox that writes to w until Close or a failed write.
func NewOutbox(w io.Writer) *Outbox {
	o := &Outbox{w: w, wake: make(chan struct{}, 1), done: make(chan struct{})}
	o.room = sync.NewCond(&o.mu)
	go o.run()
	return o
}

// Put queues a frame and never blocks.
func (o *Outbox) Put(frame []byte) {
	o.mu.Lock()
	o.queue = append(o.queue, frame)
	o.bytes += len(frame)
	o.mu.Unlock()
	Signal(o.wake)
}

// signal wakes whoever waits on a channel of capacity one.
func Signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// PutSlow is for senders that may wait: it writes the frame itself if nothing is queued before it, and otherwise
// queues it, after waiting until less than limit bytes are queued or the Outbox is closed.
func (o *Outbox) PutSlow(frame []byte, limit int) {
	o.mu.Lock()
	for o.bytes >= limit && !o.Closed() {
		o.room.Wait()
	}
	if o.busy || len(o.queue) > 0 {
		o.mu.Unlock()
		o.Put(frame)
		return
	}
	o.busy = true
	o.mu.Unlock()
	if _, err := o.w.Write(frame); err != nil {
		o.Close()
	}
	o.rest()
}

// rest ends somebody's writing and lets the goroutine write what was queued meanwhile.
func (o *Outbox) rest() {
	o.mu.Lock()
	o.busy = false
	more := len(o.queue) > 0
	o.mu.Unlock()
	if more {
		Signal(o.wake)
	}
}

// Closed tells whether Close was called or a write failed.
func (o *Outbox) Closed() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// Close drops what is queued and lets nobody wait any more. It does not close the writer.
func (o *Outbox) Close() {
	o.once.Do(func() {
		close(o.done)
		o.mu.Lock()
		o.room.Broadcast()
		o.mu.Unlock()
	})
}

func (o *Outbox) run() {
	defer o.Close()
	for {
		select {
		case <-o.wake:
		case <-o.done:
			return
		}
		o.mu.Lock()
		if o.busy || len(o.queue) == 0 {
			o.mu.Unlock()
			continue // whoever is writing wakes us
		}
		queue := o.queue
		o.queue, o.bytes, o.busy = nil, 0, true
		o.room.Broadcast()
		o.mu.Unlock()
		if !o.writeAll(queue) {
			return
		}
		o.rest()
	}
}

// writeAll writes frames, small ones together.
func (o *Outbox) writeAll(queue [][]byte) bool {
	for len(queue) > 0 {
		b := queue[0]
		queue = queue[1:]
		for len(queue) > 0 && len(b)+len(queue[0]) <= 64<<10 {
			b = append(b, queue[0]...)
			queue = queue[1:]
		}
		if _, err := o.w.Write(b); err != nil {
			return false
		}
	}
	return true
}
