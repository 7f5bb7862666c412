package capnweb

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/big"
	"sync"
)

// Blob is a JavaScript Blob. It travels as a stream and is delivered whole.
type Blob struct {
	Type  string
	Bytes []byte
}

const (
	streamRoom   = 64 << 10  // bytes a reader may be behind before writes wait
	streamWindow = 256 << 10 // bytes in flight to a peer before Write waits
	blobChunk    = 64 << 10
	costChunk    = 64 // what a chunk costs besides its bytes

	textNotClosed   = "WritableStream RPC stub was disposed without calling close()"
	textNotConsumed = "ReadableStream RPC stub was disposed without being consumed"
	textFull        = "too much is waiting to be written to the stream"
)

// Stream is a ReadableStream: chunks of any value, in order. One reader at a time. A stream
// that arrived belongs to whoever received it, who reads it to its end or cancels it; one in
// arguments is canceled when the call ends unless reading has begun.
type Stream struct {
	source func(ctx context.Context) (any, error) // nil: filled by Write

	ctx    context.Context
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	chunks  []chunk
	held    int
	end     error // io.EOF once closed
	reading bool
	changed chan struct{}
}

// chunk is one value of a stream with the charge for it.
type chunk struct {
	value  any
	charge *charge
}

// NewStream makes a stream to be sent to a peer. Each Read calls source, which returns
// io.EOF at the end; its ctx ends when the stream is canceled.
func NewStream(source func(ctx context.Context) (any, error)) *Stream {
	s := &Stream{source: source, changed: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s
}

// Read returns the next chunk, io.EOF at the end. Stubs in the chunk are the reader's.
func (s *Stream) Read(ctx context.Context) (any, error) {
	s.mu.Lock()
	s.reading = true
	if s.source != nil {
		s.mu.Unlock()
		if err := context.Cause(s.ctx); err != nil {
			return nil, err
		}
		return protect(func() (any, error) { return s.source(s.ctx) }, nil)
	}
	for len(s.chunks) == 0 && s.end == nil {
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if len(s.chunks) == 0 {
		return nil, s.end
	}
	first := s.chunks[0]
	s.chunks[0] = chunk{}
	s.chunks = s.chunks[1:]
	s.held -= sizeOf(first.value, 0)
	s.changeLocked()
	first.charge.release()
	return first.value, nil
}

// Keep says that the stream will be read after the call whose argument it is has ended.
func (s *Stream) Keep() {
	s.mu.Lock()
	s.reading = true
	s.mu.Unlock()
}

// ReadAll reads bytes and strings to the end, at most max bytes.
func (s *Stream) ReadAll(ctx context.Context, max int) ([]byte, error) {
	return s.readAll(ctx, max, nil)
}

// readAll counts what it has read on a charge.
func (s *Stream) readAll(ctx context.Context, max int, count *charge) ([]byte, error) {
	var out [][]byte
	total := 0
	for {
		v, err := s.Read(ctx)
		if errors.Is(err, io.EOF) {
			return bytes.Join(out, nil), nil
		}
		if err != nil {
			return nil, err
		}
		part, ok := chunkBytes(v)
		if !ok {
			DisposeValue(v)
			err = typeError("the stream holds something other than bytes")
		} else if total += len(part); total > max {
			err = typeError("the stream is too long")
		} else {
			err = count.add(len(part) + costChunk)
			out = append(out, part)
		}
		if err != nil {
			s.Cancel(err)
			return nil, err
		}
	}
}

func chunkBytes(v any) ([]byte, bool) {
	switch c := v.(type) {
	case []byte:
		return c, true
	case string:
		return []byte(c), true
	case TypedArray:
		return c.Bytes, true
	}
	return nil, false
}

func (s *Stream) changeLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Cancel says that the rest is not wanted; the writer hears reason (nil for none).
func (s *Stream) Cancel(reason error) {
	if reason == nil {
		reason = plainError(textNotConsumed)
	}
	s.finish(reason)
	s.cancel(reason)
}

// finish ends the stream; an error drops what was not read.
func (s *Stream) finish(end error) {
	s.mu.Lock()
	if s.end != nil {
		s.mu.Unlock()
		return
	}
	s.end = end
	var dropped []chunk
	if !errors.Is(end, io.EOF) {
		dropped, s.chunks = s.chunks, nil
	}
	s.changeLocked()
	s.mu.Unlock()
	for _, c := range dropped {
		DisposeValue(c.value)
		c.charge.release()
	}
}

// release is the end of the payload that held the stream.
func (s *Stream) release() {
	s.mu.Lock()
	reading := s.reading
	s.mu.Unlock()
	if !reading {
		s.Cancel(nil)
	}
}

// Write, Close and Abort make a stream the sink of its pipe. Write waits for room, so that a
// write is not acknowledged before the reader has it nearly due.
func (s *Stream) Write(ctx context.Context, chunk any) error { return s.write(ctx, chunk, nil) }

// write takes over c.
func (s *Stream) write(ctx context.Context, v any, c *charge) (err error) {
	defer func() {
		if err != nil {
			c.release()
		}
	}()
	s.mu.Lock()
	for s.end == nil && s.held >= streamRoom {
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if s.end != nil {
		if errors.Is(s.end, io.EOF) {
			return typeError("Invalid state: WritableStream is closed")
		}
		return s.end
	}
	s.chunks = append(s.chunks, chunk{v, c})
	s.held += sizeOf(v, 0)
	s.changeLocked()
	return nil
}

// Close ends the stream after what was written.
func (s *Stream) Close(context.Context) error {
	s.finish(io.EOF)
	return nil
}

// Abort ends the stream with an error at once.
func (s *Stream) Abort(reason error) { s.finish(reason) }

// sizeOf estimates what a chunk keeps in memory.
func sizeOf(v any, depth int) int {
	if depth > defaultMaxDepth {
		return 16
	}
	switch v := v.(type) {
	case string:
		return len(v) + 16
	case []byte:
		return len(v) + 24
	case TypedArray:
		return len(v.Bytes) + 40
	case Blob:
		return len(v.Bytes) + 40
	case URL:
		return len(v) + 16
	case Headers:
		n := 24
		for _, h := range v {
			n += len(h[0]) + len(h[1]) + 32
		}
		return n
	case *big.Int:
		if v == nil {
			return 16
		}
		return v.BitLen()/8 + 40
	case *Error:
		if v == nil {
			return 16
		}
		return len(v.Name) + len(v.Message) + len(v.Stack) + 80 + sizeOf(v.Props, depth+1)
	case []any:
		n := 24
		for _, e := range v {
			n += sizeOf(e, depth+1)
		}
		return n
	case Object:
		n := 24
		for _, f := range v {
			n += len(f.Key) + 16 + sizeOf(f.Value, depth+1)
		}
		return n
	}
	return 16
}

func (pl *payload) copyStream(at *any, v any, dup bool) bool {
	switch v := v.(type) {
	case Blob:
		*at = v
		return true
	case *Stream:
		*at = v
		if !dup {
			pl.held = append(pl.held, v)
		}
		return true
	case *Writer:
		*at = v
		if !dup {
			pl.held = append(pl.held, v)
		}
		return true
	}
	return false
}

func (pl *payload) putStream(at *any, st *Stream) {
	*at = st
	pl.held = append(pl.held, st)
}

func (pl *payload) putWriter(at *any, h hook) {
	w := newWriter(h)
	*at = w
	pl.held = append(pl.held, w)
}

// stream writes the streaming forms; false for any other type.
func (e *encoder) stream(v any) (bool, error) {
	switch v := v.(type) {
	case *Stream:
		return true, e.readable(v)
	case Blob:
		e.buf = append(appendString(append(e.buf, `["blob",`...), v.Type), ',')
		if err := e.readable(blobStream(v.Bytes)); err != nil {
			return true, err
		}
		e.buf = append(e.buf, ']')
		return true, nil
	case *Writer:
		return true, e.export("writable", v.h.dup())
	}
	return false, nil
}

func blobStream(b []byte) *Stream {
	return NewStream(func(context.Context) (any, error) {
		if len(b) == 0 {
			return nil, io.EOF
		}
		chunk := b[:min(len(b), blobChunk)]
		b = b[len(chunk):]
		return chunk, nil
	})
}

// readable makes a pipe to the peer; it is filled once the message is queued.
func (e *encoder) readable(st *Stream) error {
	if e.s == nil {
		return typeError("Cannot serialize streams in this context.")
	}
	st.Keep()
	s := e.s
	s.mu.Lock()
	if s.err != nil {
		defer s.mu.Unlock()
		return s.err
	}
	s.pushLocked([]byte(`["pipe"]`))
	entry := s.newImportLocked(false)
	entry.promise = false
	s.mu.Unlock()
	e.pipes = append(e.pipes, pipeStart{entry, st})
	e.reference("readable", entry.id)
	return nil
}

// pipeStart is a pipe waiting for the message that names it.
type pipeStart struct {
	entry *importEntry
	from  *Stream
}

func (p pipeStart) undo() {
	p.entry.dispose()
	p.from.Cancel(nil)
}

// run copies the stream to the peer.
func (p pipeStart) run() {
	w := newWriter(p.entry)
	defer w.release()
	ctx := p.entry.s.ctx
	for {
		chunk, err := p.from.Read(ctx)
		if errors.Is(err, io.EOF) {
			_ = w.Close(ctx)
			return
		}
		if err != nil {
			w.Abort(err)
			return
		}
		err = w.Write(ctx, chunk)
		DisposeValue(chunk)
		if err != nil {
			p.from.Cancel(err)
			return
		}
	}
}

func (s *Session) onPipe() error {
	st := NewStream(nil)
	h := newSinkHook(st, s.ctx, s.opts.MaxBuffer)
	if err := s.roomForCall(); err != nil {
		return err
	}
	return s.charged(0, func(c *charge) error {
		s.addPushed(&export{hook: h, refs: 1, pipe: st}, c)
		return nil
	})
}

func (s *Session) takePipe(id int64) (*Stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.exports[id]
	if x == nil || x.pipe == nil {
		return nil, errPipeConsumed
	}
	st := x.pipe
	x.pipe = nil
	return st, nil
}

// blob evaluates ["blob", type, ["readable", id]] to a promise of the whole.
func (e *evaluator) blob(pl *payload, at *any, l []any) error {
	if len(l) != 3 {
		return errBadValue
	}
	kind, ok1 := l[1].(string)
	part, ok2 := l[2].([]any)
	if !ok1 || !ok2 || len(part) != 2 || part[0] != "readable" {
		return errBadValue
	}
	id, err := wholeNumber(part[1])
	if err != nil {
		return err
	}
	st, err := e.in.takePipe(id)
	if err != nil {
		return err
	}
	count, err := e.s.budget.charge(costMessage)
	if err != nil {
		return err
	}
	out := newPending()
	go e.s.readBlob(st, kind, count, out)
	return e.putPromise(pl, at, out)
}

// readBlob settles out with the whole of a blob.
func (s *Session) readBlob(st *Stream, kind string, count *charge, out *pendingHook) {
	b, err := st.readAll(s.ctx, s.opts.MaxBuffer, count)
	if errors.Is(err, errTooMuchHeld) {
		s.end(err, true)
	}
	h := settled(Blob{Type: kind, Bytes: b}, err)
	if v, ok := h.(*valueHook); ok {
		v.pl.charge.Store(count)
	} else {
		count.release()
	}
	out.settle(h)
}
