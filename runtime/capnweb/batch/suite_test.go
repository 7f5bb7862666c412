package batch

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"toolshed/runtime/capnweb"
)

// socket is a transport over a WebSocket.
type socket struct{ c *websocket.Conn }

func (s socket) Send(msg []byte) error {
	return s.c.Write(context.Background(), websocket.MessageText, msg)
}

func (s socket) Receive(ctx context.Context) ([]byte, error) {
	_, msg, err := s.c.Read(ctx)
	if websocket.CloseStatus(err) != -1 {
		return nil, io.EOF
	}
	return msg, err
}

func (s socket) Close(error) { _ = s.c.CloseNow() }

// TestOfficialSuite runs those tests of the official library's own suite that talk to a server
// outside their process, over HTTP and WebSocket, against this server. TOOLSHED_OFFICIAL_SUITE
// names a folder with the sources of capnweb 0.12.0, vitest, and a vitest.config whose global
// set-up provides testServerHost from the variable GO_SERVER; TOOLSHED_NODE the node to use.
func TestOfficialSuite(t *testing.T) {
	folder := os.Getenv("TOOLSHED_OFFICIAL_SUITE")
	if folder == "" {
		t.Skip("TOOLSHED_OFFICIAL_SUITE is not set")
	}
	node := os.Getenv("TOOLSHED_NODE")
	if node == "" {
		node = "node"
	}
	calls := Handler(func(*http.Request) any { return target() }, nil)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "websocket" {
			calls.ServeHTTP(w, r)
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		<-capnweb.NewSession(socket{c}, target(), nil).Done()
	}))
	defer srv.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "node_modules/vitest/vitest.mjs", "run", "--reporter=verbose", "-t", "HTTP requests|WebSockets")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GO_SERVER="+strings.TrimPrefix(srv.URL, "http://"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v", err)
	}
	if !strings.Contains(string(out), "3 passed") {
		t.Error("not three tests passed")
	}
	t.Logf("%s", out)
}
