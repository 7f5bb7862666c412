package serve

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// sockets returns the two ends of a WebSocket; the server's gives a write up after patience.
func sockets(t *testing.T, patience time.Duration) (*Transport, *websocket.Conn) {
	t.Helper()
	accepted := make(chan *Transport, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		accepted <- newTransport(conn, patience)
	}))
	t.Cleanup(server.Close)
	page, _, err := websocket.Dial(t.Context(), server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { page.CloseNow() })
	page.SetReadLimit(maxMessage)
	return <-accepted, page
}

// A page that does not read is given up, and what is told says why.
func TestAPageThatDoesNotReadIsGivenUp(t *testing.T) {
	s, _ := sockets(t, 100*time.Millisecond)
	frame := make([]byte, 1<<20)
	for range 500 { // more than any system keeps for a page
		if err := s.Send(frame); err != nil {
			if !errors.Is(err, errSlow) {
				t.Errorf("it was given up with: %v", err)
			}
			if _, err := s.Receive(t.Context()); err == nil {
				t.Error("the connection is still there")
			}
			return
		}
	}
	t.Fatal("500 MB were sent to a page that does not read")
}

// A page that reads is not given up, however long nothing is sent.
func TestAPageThatReadsIsNotGivenUp(t *testing.T) {
	s, page := sockets(t, 20*time.Millisecond)
	go func() {
		for {
			if _, _, err := page.Read(context.Background()); err != nil {
				return
			}
		}
	}()
	for range 3 {
		if err := s.Send([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
