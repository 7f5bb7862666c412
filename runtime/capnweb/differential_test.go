package capnweb

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
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

// goServer serves the test server over WebSocket, one session a path; /stats/<path> tells
// what a session holds.
func goServer(t testing.TB) string {
	var mu sync.Mutex
	sessions := map[string]*Session{}
	h := http.NewServeMux()
	h.HandleFunc("/stats/", func(w http.ResponseWriter, r *http.Request) {
		var s *Session
		eventually(func() bool { // the client may ask before the server has made the session
			mu.Lock()
			defer mu.Unlock()
			s = sessions[strings.TrimPrefix(r.URL.Path, "/stats")]
			return s != nil
		})
		if s == nil {
			http.NotFound(w, r)
			return
		}
		st := s.Stats()
		fmt.Fprintf(w, `{"exports":%d,"imports":%d}`, st.Exports, st.Imports)
	})
	h.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
		if err != nil {
			return
		}
		c.SetReadLimit(64 << 20)
		s := NewSession(socket{c}, (&server{}).target(), nil)
		mu.Lock()
		sessions[r.URL.Path] = s
		mu.Unlock()
		<-s.Done()
	})
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return "ws" + strings.TrimPrefix(srv.URL, "http")
}

// node prepares a run of a script with the official library; without Node or the library
// the test is skipped, or fails where everything must run.
func node(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	return nodeFor(t, 100*time.Second, args...)
}

// nodeFor is node with a time limit of its own.
func nodeFor(t testing.TB, limit time.Duration, args ...string) *exec.Cmd {
	t.Helper()
	missing := func(why string) {
		t.Helper()
		if os.Getenv("CI") == "true" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	modules := os.Getenv("TOOLSHED_NODE_MODULES")
	if modules == "" {
		modules, _ = filepath.Abs("../../frontend/node_modules")
	}
	for _, name := range []string{"capnweb", "ws"} {
		if _, err := os.Stat(filepath.Join(modules, name)); err != nil {
			missing("the npm package " + name + " is missing: run make setup")
		}
	}
	if _, err := exec.LookPath("node"); err != nil {
		missing("node is missing")
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Env = append(os.Environ(), "TOOLSHED_NODE_MODULES="+modules)
	cmd.Dir = "testdata"
	return cmd
}

// verdict is one line of differential.mjs. What the official server itself holds on to is not
// held against this peer.
type verdict struct {
	Name, JS, Go   string
	LeakJS, LeakGo string
}

// deviations are the scenarios in which this peer does something else on purpose, and what the official client sees then.
var deviations = map[string]string{
	"fetch: request":                  "threw TypeError: " + errRefused + " {}",
	"fetch: response":                 "threw TypeError: " + errRefused + " {}",
	"fetch: response among arguments": "[ 'TypeError: " + errRefused + "', 4 ]",
}

// TestOfficialClient compares what the official client sees of the official server and of
// this peer.
func TestOfficialClient(t *testing.T) {
	cmd := node(t, "differential.mjs", goServer(t))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, stderr.String(), out)
	}
	same, sections := 0, map[string]int{}
	for line := range strings.Lines(string(out)) {
		var v verdict
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		ok := t.Run(v.Name, func(t *testing.T) {
			if want, ok := deviations[v.Name]; ok && (v.Go != want || v.JS == want) {
				t.Errorf("a deviation that is not the one declared\n js: %.600s\n go: %.600s", v.JS, v.Go)
			} else if !ok && v.JS != v.Go {
				t.Errorf("different\n js: %.600s\n go: %.600s", v.JS, v.Go)
			}
			if strings.Contains(v.JS, "TIMEOUT") {
				t.Error("the scenario does not finish with the official server")
			}
			if v.LeakGo != "" && v.LeakJS == "" {
				t.Errorf("this peer still holds something: %s", v.LeakGo)
			}
		})
		if ok {
			same++
			section, _, _ := strings.Cut(v.Name, ":")
			sections[section]++
		}
	}
	if same < 190 || len(sections) != 11 {
		t.Errorf("only %d scenarios of %d sections are as they should be", same, len(sections))
	}
	t.Logf("%d scenarios, %d declared deviations, by section %v", same, len(deviations), sections)
}

// officialServer starts the JavaScript twin of the test server.
func officialServer(t testing.TB) string {
	cmd := node(t, "server.mjs")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address)
}

func dial(t testing.TB, url string) *Session {
	t.Helper()
	c, _, err := websocket.Dial(context.Background(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.SetReadLimit(64 << 20)
	s := NewSession(socket{c}, nil, nil)
	t.Cleanup(s.Close)
	return s
}
