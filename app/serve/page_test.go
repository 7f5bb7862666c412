package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/coder/websocket"

	"toolshed/app/api"
	"toolshed/app/overseer"
	"toolshed/app/profile"
	"toolshed/runtime/capnweb"
)

// thePage stands for the built page.
var thePage = fstest.MapFS{
	"index.html":          {Data: []byte("<!doctype html><title>the page</title>")},
	"assets/index-abc.js": {Data: []byte("export {}")},
	"assets/large.png":    {Data: make([]byte, 16<<20)}, // more than the system's buffers hold
	"assets/looks":        {Data: []byte("<html><script>alert()</script>")},
	"frame/boot.js":       {Data: []byte(`start("</script><!--")`)},
}

// running is a server on a data folder of its own.
type running struct {
	*Server
	t      *testing.T
	kernel *overseer.Kernel
	stop   func() // and wait for the end
}

// start serves thePage. No gadget can run on it, because it has no children: opening a view needs none.
func start(t *testing.T, change ...func(*Server)) *running {
	t.Helper()
	dir := t.TempDir()
	me, err := profile.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	kernel, err := overseer.Open(context.Background(), overseer.Options{
		Folder: filepath.Join(dir, "workspaces"),
		Child:  func() (*exec.Cmd, error) { return nil, errors.New("no children here") },
		Log:    quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Listen(api.New(kernel, me, "test", quiet), thePage, 0, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stopped := false
	r := &running{Server: s, t: t, kernel: kernel}
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run returned %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Error("Run did not return")
		}
	}
	t.Cleanup(func() {
		r.stop()
		kernel.Close()
		me.Close()
	})
	return r
}

func (r *running) secretOfLink() string {
	_, secret, _ := strings.Cut(r.Link(), "#")
	return secret
}

// token exchanges the link as the page does.
func (r *running) token() string {
	r.t.Helper()
	token, used := r.gate.exchange(r.secretOfLink())
	if token == "" {
		r.t.Fatalf("the link was refused (used: %v)", used)
	}
	return token
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// dial opens the pipe with the headers of the page, changed.
func (r *running) dial(change ...func(http.Header)) (*websocket.Conn, *http.Response, error) {
	header := http.Header{"Origin": {r.origin()}}
	for _, c := range change {
		c(header)
	}
	conn, answer, err := websocket.Dial(within(r.t), "ws://"+r.host()+"/pipe", &websocket.DialOptions{HTTPHeader: header})
	if err == nil {
		conn.SetReadLimit(-1)
		r.t.Cleanup(func() { conn.CloseNow() })
	}
	return conn, answer, err
}

// hello opens the pipe, says hello, and returns the answer or the error that ended the pipe.
func (r *running) hello(text string) (*websocket.Conn, string, error) {
	r.t.Helper()
	conn, _, err := r.dial()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := conn.Write(within(r.t), websocket.MessageText, []byte(text)); err != nil {
		r.t.Fatal(err)
	}
	_, answer, err := conn.Read(within(r.t))
	return conn, string(answer), err
}

func (r *running) admitted(token string) *websocket.Conn {
	r.t.Helper()
	conn, answer, err := r.hello(`{"token":"` + token + `"}`)
	if err != nil || answer != `{"ok":true}` {
		r.t.Fatalf("the pipe answered %q, %v", answer, err)
	}
	return conn
}

// shell is the capability that the page gets on channel 0 of its pipe.
func (r *running) shell(conn *websocket.Conn) *capnweb.Stub {
	session := capnweb.NewSession(channelZero{conn}, nil, nil)
	r.t.Cleanup(session.Close)
	return session.Main()
}

type channelZero struct{ conn *websocket.Conn }

func (c channelZero) Send(message []byte) error {
	return c.conn.Write(context.Background(), websocket.MessageText, append([]byte("0:"), message...))
}

func (c channelZero) Receive(ctx context.Context) ([]byte, error) {
	for {
		_, frame, err := c.conn.Read(ctx)
		if err != nil {
			return nil, err
		}
		if message, ours := strings.CutPrefix(string(frame), "0:"); ours {
			return []byte(message), nil
		}
	}
}

func (c channelZero) Close(error) { c.conn.CloseNow() }

// openBoard makes a Board, opens a view of it, and returns the path of the frame document.
func (r *running) openBoard(shell *capnweb.Stub) string {
	r.t.Helper()
	ref, err := r.kernel.CreateGadget(overseer.NewGadget{Blueprint: "board"})
	if err != nil {
		r.t.Fatal(err)
	}
	return r.openView(shell, ref)
}

func (r *running) openView(shell *capnweb.Stub, ref overseer.Ref) string {
	r.t.Helper()
	ctx := within(r.t)
	view, err := shell.Call(ctx, "openView", capnweb.Object{{Key: "workspace", Value: ref.Workspace}, {Key: "gadget", Value: ref.Gadget}}).Await(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	frame, _ := view.(capnweb.Object).Get("frame")
	return frame.(string)
}
