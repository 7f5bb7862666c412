package capnweb

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// ErrClosed is the end of a session closed on this side.
var ErrClosed = errors.New("capnweb: session closed")

// ErrPeerClosed is the end of a session whose transport was closed by the other side.
var ErrPeerClosed = errors.New("capnweb: the peer closed the connection")

const (
	errTooLarge       = protocolError("incoming message exceeds the maximum size")
	errTooManyExports = protocolError("too many objects are exported to the peer")
	errTooManyImports = protocolError("too many objects are imported from the peer")
	errTooManyCalls   = protocolError("too many calls are in flight")
	errTooMuchHeld    = protocolError("too much data is held by calls in flight")
	errQueueFull      = protocolError("the peer does not read its messages")
	errNegative       = protocolError("bad RPC message: refcount would go negative")
	errNoRelease      = protocolError("bad RPC message: no such export to release")
	errNoPull         = protocolError("bad RPC message: no such export to pull")
)

// closeGrace is how long the last messages may take to leave.
const closeGrace = 2 * time.Second

// maxSpare is the size of the queues that are kept for reuse.
const maxSpare = 64

// maxSpareStack is the size of the parser's stack that is kept.
const maxSpareStack = 1024

// Session is one end of a connection. Its goroutine reads the messages and enters the
// methods of exported objects in the order of the messages.
type Session struct {
	t      Transport
	opts   Options
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	mu         sync.Mutex // guards the tables and the queue; never held while foreign code runs
	exports    map[int64]*export
	imports    map[int64]*importEntry
	nextPushed int64 // positive ids: counted by the importer
	nextSent   int64
	nextExport int64 // negative ids: chosen by the exporter
	calls      int
	budget     *budget
	err        error
	sent       int64
	received   int64
	main       *importEntry

	spare []any // for the parser

	answering int           // pulls, and promises in answers, that are not answered yet
	quiet     chan struct{} // made by Drain, closed when nothing is left to send

	queue     [][]byte
	queued    int
	sending   bool
	closeSent bool // the transport was told to close
}

// export is an object or promise lent to the peer.
type export struct {
	id     int64
	charge *charge
	hook   hook
	refs   int64
	pulled bool
	auto   bool    // a stream call: dropped once answered
	pipe   *Stream // the readable end of a pipe, until taken
}

// NewSession starts a session over t, which it owns. main is the object the peer gets: a
// Target, a *Stub (duplicated) or nil.
func NewSession(t Transport, main any, o *Options) *Session {
	s := &Session{
		t: t, opts: o.withDefaults(), done: make(chan struct{}),
		exports: map[int64]*export{}, imports: map[int64]*importEntry{},
	}
	s.budget = &budget{max: int64(s.opts.MaxHeld)}
	ctx := context.WithValue(context.Background(), budgetKey{}, s.budget)
	if s.opts.OnPanic != nil {
		ctx = context.WithValue(ctx, panicKey{}, s.opts.OnPanic)
	}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.exports[0] = &export{hook: mainHook(main), refs: 1}
	s.main = &importEntry{s: s, refs: 1}
	s.imports[0] = s.main
	go s.run()
	return s
}

func mainHook(main any) hook {
	switch m := main.(type) {
	case nil:
		return &errorHook{plainError("This connection has no main object.")}
	case *Stub:
		return m.hook().dup()
	case Target:
		return NewStub(m).hook()
	}
	return settled(main, nil)
}

// Main returns a new stub of the peer's main object. Disposing it does not end the session.
func (s *Session) Main() *Stub { return &Stub{h: s.main.dup()} }

// Close ends the session: every call in flight fails with ErrClosed, everything the peer
// held is released. It does not wait (see Done) and may be called from a method.
func (s *Session) Close() {
	s.end(ErrClosed, false)
}

// Done is closed when the session has ended and let go of everything.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err returns why the session ended, nil while it lives.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Drain waits until everything that the peer has asked for so far is answered and has been
// handed to the transport. It returns the end of ctx or of the session.
func (s *Session) Drain(ctx context.Context) error {
	for {
		s.mu.Lock()
		if s.err != nil || s.drainedLocked() {
			defer s.mu.Unlock()
			return s.err
		}
		if s.quiet == nil {
			s.quiet = make(chan struct{})
		}
		quiet := s.quiet
		s.mu.Unlock()
		select {
		case <-quiet:
		case <-s.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Session) drainedLocked() bool {
	return s.answering == 0 && !s.sending && len(s.queue) == 0
}

// tellQuietLocked wakes Drain if it has nothing to wait for.
func (s *Session) tellQuietLocked() {
	if s.quiet != nil && s.drainedLocked() {
		close(s.quiet)
		s.quiet = nil
	}
}

// Stats counts what is alive.
func (s *Session) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{
		Exports: len(s.exports), Imports: len(s.imports), Calls: s.calls, Held: int(s.budget.held.Load()),
		Sent: s.sent, Received: s.received,
	}
}

// run is the session's goroutine.
func (s *Session) run() {
	for {
		msg, err := s.t.Receive(s.ctx)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = ErrPeerClosed
			}
			s.end(err, false)
			return
		}
		if !s.Handle(msg) {
			return
		}
	}
}

// Handle deals with a message as if the transport's Receive had returned it, and tells whether the session lives on. It
// is for a transport that can do without waking the session's goroutine: it must be called while that goroutine waits in
// Receive, and Receive must return nothing before Handle has.
func (s *Session) Handle(msg []byte) bool {
	if s.Err() != nil {
		return false
	}
	_, err := protect(func() (any, error) { return nil, s.handle(msg) }, s.ctx)
	if err != nil {
		s.end(err, true)
	}
	return err == nil
}

// end is the only place where a session dies. The first reason counts. What the session held
// is let go on another goroutine, so that end may be called by anyone, under any lock.
func (s *Session) end(reason error, tell bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.err = reason
	exports, imports := s.exports, s.imports
	s.exports, s.imports = map[int64]*export{}, map[int64]*importEntry{}
	if tell {
		e := encoder{}
		e.buf = append(e.buf, `["abort",`...)
		if e.error(abortError(reason), 0) == nil {
			s.queue = append(s.queue, append(e.buf, ']'))
		}
	}
	go s.letGo(reason, exports, imports)
}

func (s *Session) letGo(reason error, exports map[int64]*export, imports map[int64]*importEntry) {
	s.cancel()
	grace := time.AfterFunc(closeGrace, func() { s.t.Close(reason) }) // a Send may be stuck
	if s.flush() {
		grace.Stop()
	}
	for _, entry := range imports {
		entry.fail(reason)
	}
	for _, x := range exports {
		s.dropped(x)
		if x.pipe != nil {
			x.pipe.Cancel(reason)
		}
	}
	close(s.done)
}

// abortError is what the peer hears about the end: only fixed texts.
func abortError(reason error) *Error {
	var p protocolError
	if errors.As(reason, &p) {
		return typeError(reason.Error())
	}
	var e *Error
	if errors.As(reason, &e) {
		return plainError(e.Message)
	}
	return plainError("the session failed")
}

// push queues a message; the caller flushes once the lock is free.
func (s *Session) pushLocked(msg []byte) {
	if s.err != nil {
		return
	}
	s.queue = append(s.queue, msg)
	s.queued += len(msg)
	s.sent++
}

// flush sends what is queued. One goroutine at a time sends, without the lock; others leave
// their messages to it. It tells whether it closed the transport of a session that has ended.
func (s *Session) flush() bool {
	s.mu.Lock()
	if s.sending {
		full := s.queued > s.opts.MaxQueue
		s.mu.Unlock()
		if full {
			s.end(errQueueFull, false)
		}
		return false
	}
	s.sending = true
	var failed error
	for len(s.queue) > 0 && failed == nil {
		batch := s.queue
		s.queue = nil
		s.mu.Unlock()
		size := 0
		for _, msg := range batch {
			size += len(msg)
			if failed == nil {
				failed = s.t.Send(msg)
			}
		}
		clear(batch)
		s.mu.Lock()
		s.queued -= size
		if s.queue == nil && cap(batch) <= maxSpare {
			s.queue = batch[:0]
		}
	}
	s.sending = false
	s.tellQuietLocked()
	closing := s.err != nil && !s.closeSent
	s.closeSent = s.closeSent || closing
	reason := s.err
	s.mu.Unlock()
	if failed != nil {
		s.end(failed, false)
	}
	if closing {
		s.t.Close(reason)
	}
	return closing
}

// export lends h to the peer under a new id. An id is never given twice, not even for the
// same object: importers of the official library count an introduction once only, so a
// shared id would never be fully released.
func (s *Session) export(h hook) (int64, error) {
	s.mu.Lock()
	if s.err != nil {
		defer s.mu.Unlock()
		return 0, s.err
	}
	if len(s.exports) >= s.opts.MaxExports {
		s.mu.Unlock()
		s.end(errTooManyExports, true)
		return 0, errTooManyExports
	}
	s.nextExport--
	id := s.nextExport
	s.exports[id] = &export{id: id, hook: h, refs: 1}
	s.mu.Unlock()
	return id, nil
}

func (s *Session) unexport(id int64) {
	s.mu.Lock()
	x := s.exports[id]
	delete(s.exports, id)
	s.mu.Unlock()
	if x != nil {
		s.dropped(x)
	}
}

// dropped lets go of an export that is out of the table. A call counts until it is both
// released and settled.
func (s *Session) dropped(x *export) {
	if x.id > 0 {
		finished := func(hook) {
			s.mu.Lock()
			s.calls--
			s.mu.Unlock()
			x.charge.release()
		}
		if p, ok := x.hook.(*pendingHook); ok {
			p.then(finished)
		} else {
			finished(nil)
		}
	}
	x.hook.dispose()
}

// answer sends the resolution of an export once there is one. It is called once for each.
func (s *Session) answer(x *export) {
	pullThrough(x.hook, func(pl *payload, err error) {
		s.sendResult(x, pl, err)
		s.mu.Lock()
		s.answering--
		s.tellQuietLocked()
		s.mu.Unlock()
		if x.auto {
			s.unexport(x.id)
		}
	})
}

// pullThrough follows a promise that resolved to a promise.
func pullThrough(h hook, fn func(*payload, error)) {
	h.pull(func(pl *payload, err error) {
		if err == nil && len(pl.slots) == 1 {
			if p, ok := pl.snapshot().(*Promise); ok {
				pullThrough(p.hook(), fn)
				return
			}
		}
		fn(pl, err)
	})
}

func (s *Session) sendResult(x *export, pl *payload, err error) {
	e := encoder{s: s, buf: make([]byte, 0, 64)}
	if err == nil {
		e.head("resolve", x.id)
		err = e.value(pl.snapshot(), 0)
	}
	if err != nil {
		e.undo()
		e = encoder{s: s}
		e.head("reject", x.id)
		if failed := e.thrown(err); failed != nil {
			e.undo()
			e = encoder{}
			e.head("reject", x.id)
			_ = e.error(wireError(failed), 0)
			e.s = s
		}
	}
	e.buf = append(e.buf, ']')
	s.mu.Lock()
	wanted := s.exports[x.id] == x
	if wanted {
		s.pushLocked(e.buf)
	}
	s.mu.Unlock()
	if !wanted {
		e.undo()
		return
	}
	s.sentWith(&e)
}

// sentWith finishes after a message with e's value was queued: only now may the promises in
// it be answered.
func (s *Session) sentWith(e *encoder) {
	e.unpin()
	for _, id := range e.promises {
		s.startAnswer(id)
	}
	for _, p := range e.pipes {
		go p.run()
	}
	s.flush()
}

func (s *Session) startAnswer(id int64) bool {
	s.mu.Lock()
	x := s.exports[id]
	start := x != nil && !x.pulled
	if start {
		x.pulled = true
		s.answering++
	}
	s.mu.Unlock()
	if start {
		s.answer(x)
	}
	return x != nil
}
