package serve

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Bounds on one page's WebSocket.
const (
	maxMessage   = 32<<20 + 16 // a message of 32 MiB and its channel
	maxUnsent    = 64 << 20    // bytes that a page has not taken yet
	writeTimeout = 30 * time.Second
)

// errSlow means that the page does not read what it is sent.
var errSlow = errors.New("serve: the page does not take what it is sent")

// socket is a page's WebSocket as a capnweb.Transport: one text message for each frame, sent by one goroutine in order.
type socket struct {
	conn *websocket.Conn

	mu     sync.Mutex
	queue  [][]byte
	unsent int
	closed bool
	ready  chan struct{}
	done   chan struct{}
}

func newSocket(conn *websocket.Conn) *socket {
	s := &socket{conn: conn, ready: make(chan struct{}, 1), done: make(chan struct{})}
	go s.write()
	return s
}

// Send queues a frame. It never waits; a page that is too far behind is closed.
func (s *socket) Send(frame []byte) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return io.ErrClosedPipe
	}
	if s.unsent+len(frame) > maxUnsent {
		s.mu.Unlock()
		s.Close(errSlow)
		return errSlow
	}
	s.queue = append(s.queue, frame)
	s.unsent += len(frame)
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
	return nil
}

func (s *socket) write() {
	for {
		select {
		case <-s.ready:
		case <-s.done:
			return
		}
		s.mu.Lock()
		batch := s.queue
		s.queue = nil
		s.mu.Unlock()
		for _, frame := range batch {
			ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
			err := s.conn.Write(ctx, websocket.MessageText, frame)
			cancel()
			if err != nil {
				s.Close(err)
				return
			}
			s.mu.Lock()
			s.unsent -= len(frame)
			s.mu.Unlock()
		}
	}
}

// Receive returns the next frame; io.EOF when the page has gone.
func (s *socket) Receive(ctx context.Context) ([]byte, error) {
	kind, frame, err := s.conn.Read(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case websocket.CloseStatus(err) != -1, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, io.EOF
	case err != nil:
		return nil, err
	case kind != websocket.MessageText:
		return nil, errors.New("serve: the page sent a binary message")
	}
	return frame, nil
}

// Close closes the connection. It may be called twice.
func (s *socket) Close(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	close(s.done)
	status, text := websocket.StatusGoingAway, "Toolshed is closing"
	if errors.Is(reason, errSlow) {
		status, text = websocket.StatusPolicyViolation, "too much unread"
	}
	go s.conn.Close(status, text) // waits for the peer's answer, for 5 s at most
}
