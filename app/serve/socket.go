package serve

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// Bounds on one page's WebSocket.
const (
	maxMessage   = 32<<20 + 16      // a message of 32 MiB and its channel
	writeTimeout = 30 * time.Second // for one frame
)

// errSlow means that the page does not read what it is sent.
var errSlow = errors.New("serve: the page does not take what it is sent")

// Transport is a WebSocket as a capnweb.Transport: one text message for each frame.
type Transport struct {
	conn     *websocket.Conn
	once     sync.Once
	patience time.Duration
	giveUp   *time.Timer // of a write that is waited for; a context for each would cost as much as the write
	tooLate  atomic.Bool
}

// NewTransport takes over the connection: Close closes it.
func NewTransport(conn *websocket.Conn) *Transport { return newTransport(conn, writeTimeout) }

func newTransport(conn *websocket.Conn, patience time.Duration) *Transport {
	s := &Transport{conn: conn, patience: patience}
	s.giveUp = time.AfterFunc(patience, func() {
		s.tooLate.Store(true)
		_ = conn.CloseNow() // the write ends with an error, which Send replaces
	})
	s.giveUp.Stop()
	return s
}

// Send sends a frame and waits until the system has taken it, for writeTimeout at most: then the page is given up.
func (s *Transport) Send(frame []byte) error {
	s.giveUp.Reset(s.patience)
	err := s.conn.Write(context.Background(), websocket.MessageText, frame)
	s.giveUp.Stop()
	if s.tooLate.Load() {
		err = errSlow
	}
	if err != nil {
		s.Close(err)
	}
	return err
}

// Receive returns the next frame; io.EOF when the page has gone.
func (s *Transport) Receive(ctx context.Context) ([]byte, error) {
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
func (s *Transport) Close(reason error) {
	s.once.Do(func() {
		status, text := websocket.StatusGoingAway, "Toolshed is closing"
		if errors.Is(reason, errSlow) {
			status, text = websocket.StatusPolicyViolation, "too much unread"
		}
		go s.conn.Close(status, text) // waits for the peer's answer, for 5 s at most
	})
}
