package capnweb

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// Transport carries whole messages, reliably and in order. Send takes ownership of msg and
// must not block for long; it is never called by two goroutines at once. Receive blocks
// until a message comes, ctx ends, or the connection ends (io.EOF when it was closed).
// Close may be called more than once and from any goroutine; it ends a blocked Receive.
type Transport interface {
	Send(msg []byte) error
	Receive(ctx context.Context) ([]byte, error)
	Close(reason error)
}

// Pipe returns the two ends of a connection in memory. Send never blocks; what was sent
// before Close still arrives.
func Pipe() (a, b Transport) {
	x, y := newMailbox(), newMailbox()
	return &pipeEnd{in: x, out: y}, &pipeEnd{in: y, out: x}
}

// mailbox is an unbounded queue of messages in one direction.
type mailbox struct {
	mu     sync.Mutex
	msgs   [][]byte
	taken  [][]byte // being read, by one goroutine
	spare  [][]byte // the slice taken was cut from
	size   int
	limit  int // bytes; 0: none
	closed bool
	wake   chan struct{}
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

func (m *mailbox) put(msg []byte) error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return io.ErrClosedPipe
	}
	if m.size += len(msg); m.limit > 0 && m.size > m.limit {
		m.mu.Unlock()
		return errQueueFull
	}
	m.msgs = append(m.msgs, msg)
	m.mu.Unlock()
	m.signal()
	return nil
}

func (m *mailbox) signal() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *mailbox) close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.signal()
}

func (m *mailbox) get(ctx context.Context) ([]byte, error) {
	for {
		if len(m.taken) > 0 {
			msg := m.taken[0]
			m.taken[0] = nil
			m.taken = m.taken[1:]
			return msg, nil
		}
		m.mu.Lock()
		if cap(m.spare) > maxSpare {
			m.spare = nil
		}
		m.taken, m.msgs, m.spare = m.msgs, m.spare[:0], m.msgs
		m.size = 0
		closed := m.closed
		m.mu.Unlock()
		if len(m.taken) > 0 {
			continue
		}
		if closed {
			return nil, io.EOF
		}
		select {
		case <-m.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

type pipeEnd struct{ in, out *mailbox }

func (p *pipeEnd) Send(msg []byte) error { return p.out.put(msg) }

func (p *pipeEnd) Receive(ctx context.Context) ([]byte, error) { return p.in.get(ctx) }

func (p *pipeEnd) Close(error) {
	p.out.close()
	p.in.close()
}

// ErrLineTooLong ends a line transport whose peer sent a line longer than allowed.
var ErrLineTooLong = errors.New("capnweb: a line is longer than allowed")

// NewLineTransport carries one message a line over rw, which it owns; a line of more than
// max bytes (0: 32 MiB) ends the connection. Writing happens on a goroutine of its own.
func NewLineTransport(rw io.ReadWriteCloser, max int) Transport {
	orDefault(&max, defaultMaxMessage)
	t := &lineTransport{rw: rw, max: max, out: newMailbox(), r: bufio.NewReaderSize(rw, 16<<10)}
	t.out.limit = defaultMaxQueue
	t.ctx, t.cancel = context.WithCancel(context.Background())
	go t.write()
	return t
}

type lineTransport struct {
	rw     io.ReadWriteCloser
	max    int
	out    *mailbox
	r      *bufio.Reader
	ctx    context.Context
	cancel context.CancelFunc
	once   sync.Once
}

func (t *lineTransport) Send(msg []byte) error { return t.out.put(append(msg, '\n')) }

// write ends when the mailbox is closed and empty, so a last message still leaves.
func (t *lineTransport) write() {
	defer t.shut()
	for {
		msg, err := t.out.get(context.Background())
		if err != nil {
			return
		}
		if _, err := t.rw.Write(msg); err != nil {
			t.out.close()
			return
		}
	}
}

func (t *lineTransport) Receive(ctx context.Context) ([]byte, error) {
	stop := context.AfterFunc(ctx, func() { t.Close(ctx.Err()) })
	defer stop()
	var line []byte
	for {
		part, err := t.r.ReadSlice('\n')
		if len(line)+len(part) > t.max+1 {
			return nil, ErrLineTooLong
		}
		line = append(line, part...)
		switch {
		case err == nil:
			line = line[:len(line)-1]
			if len(line) == 0 {
				continue
			}
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case t.ctx.Err() != nil || errors.Is(err, io.EOF):
			return nil, io.EOF
		default:
			return nil, err
		}
	}
}

func (t *lineTransport) shut() { t.once.Do(func() { _ = t.rw.Close() }) }

// Close gives what is queued two seconds to leave, and ends Receive.
func (t *lineTransport) Close(error) {
	t.cancel()
	t.out.close()
	time.AfterFunc(2*time.Second, t.shut)
	if d, ok := t.rw.(interface{ CloseRead() error }); ok {
		_ = d.CloseRead() // a connection that can: Receive ends, queued writes go out
	}
}
