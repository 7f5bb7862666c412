package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"fmt"

	"toolshed/app/code"
	"toolshed/app/overseer"
	"toolshed/app/profile"
	"toolshed/runtime/capnweb"
	"toolshed/runtime/host"
)

const testBuild = "test"

// The test binary is its own child: the sandbox's role is the same code in either.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "gadget-host" {
		os.Exit(host.ChildMain(testBuild))
	}
	os.Exit(m.Run())
}

// engineCache is shared by the tests of this package, as it is by the children of one data folder.
var engineCache = filepath.Join(os.TempDir(), fmt.Sprintf("toolshed-test-engine-%d", os.Getuid()))

// program is an API over a real kernel in a folder of its own.
type program struct {
	*API
	t      *testing.T
	folder string
}

func newProgram(t *testing.T, limits ...host.Limits) *program {
	t.Helper()
	p := &program{t: t, folder: t.TempDir()}
	me, err := profile.Open(p.folder)
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	o := overseer.Options{
		Folder: filepath.Join(p.folder, "workspaces"),
		Child:  func() (*exec.Cmd, error) { return exec.Command(os.Args[0], "gadget-host"), nil },
		Build:  testBuild,
		Cache:  engineCache,
		Author: "Ada",
		Log:    quiet,
	}
	for _, l := range limits {
		o.Limits = l
	}
	kernel, err := overseer.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	p.API = New(kernel, me, testBuild, quiet)
	t.Cleanup(func() {
		if err := errors.Join(kernel.Close(), me.Close()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// gadget makes one, with the given server code if there is any and the Board's if not.
func (p *program) gadget(server ...string) GadgetRef {
	p.t.Helper()
	ref, err := p.kernel.CreateGadget(overseer.NewGadget{Blueprint: "board"})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, text := range server {
		p.write(GadgetRef(ref), code.Files{"server.js": []byte(text), "client.js": []byte("export {}")})
	}
	return GadgetRef(ref)
}

// write commits other code for a gadget that does not run.
func (p *program) write(ref GadgetRef, files code.Files) {
	p.t.Helper()
	sources, err := code.Open(filepath.Join(p.folder, "workspaces", ref.Workspace, "code.git"))
	if err == nil {
		_, err = sources.Commit(ref.Gadget, files, code.Change{Author: "Ada", Message: "Test\n", Time: time.Now()})
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// views is how many views of the gadget the kernel counts.
func (p *program) views(ref GadgetRef) int {
	for _, w := range p.kernel.Workspaces() {
		for _, g := range w.Gadgets {
			if g.ID == ref.Gadget {
				return g.Views
			}
		}
	}
	return -1
}

// page is the other end of a connection: what the page's code does with a pipe.
type page struct {
	t     *testing.T
	pipe  capnweb.Transport
	shell *capnweb.Stub
	ended chan error // what Serve returned

	mu       sync.Mutex
	channels map[int]*pageChannel
	closed   map[int]bool // channels that the program closed
	done     chan struct{}
}

func (p *program) open() *page {
	near, far := capnweb.Pipe()
	g := &page{t: p.t, pipe: near, ended: make(chan error, 1), channels: map[int]*pageChannel{}, closed: map[int]bool{}, done: make(chan struct{})}
	session := capnweb.NewSession(g.channel(0), nil, nil)
	g.shell = session.Main()
	go g.read()
	go func() { g.ended <- p.Serve(context.Background(), far) }()
	p.t.Cleanup(g.close)
	return g
}

// close is what happens when a page goes. It returns when Serve has.
func (g *page) close() {
	g.pipe.Close(nil)
	g.wait()
}

func (g *page) wait() error {
	g.t.Helper()
	select {
	case err := <-g.ended:
		g.ended <- err
		return err
	case <-time.After(10 * time.Second):
		g.t.Error("the connection did not end")
		return nil
	}
}

func (g *page) read() {
	defer close(g.done)
	for {
		frame, err := g.pipe.Receive(context.Background())
		if err != nil { // the pipe's end is the end of every channel
			g.mu.Lock()
			defer g.mu.Unlock()
			for _, ch := range g.channels {
				ch.in.Close(nil)
			}
			return
		}
		head, message, _ := bytes.Cut(frame, []byte(":"))
		number, _ := strconv.Atoi(string(head))
		ch := g.channel(number)
		if len(message) == 0 {
			g.mu.Lock()
			g.closed[number] = true
			g.mu.Unlock()
			ch.in.Close(nil)
			continue
		}
		_ = ch.in.Send(message)
	}
}

func (g *page) wasClosed(number int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed[number]
}

func (g *page) send(frame string) {
	g.t.Helper()
	if err := g.pipe.Send([]byte(frame)); err != nil {
		g.t.Fatal(err)
	}
}

// pageChannel is the page's end of one channel as a capnweb.Transport.
type pageChannel struct {
	page    *page
	prefix  string
	in, out capnweb.Transport
}

func (g *page) channel(number int) *pageChannel {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.channels[number] == nil {
		in, out := capnweb.Pipe()
		g.channels[number] = &pageChannel{page: g, prefix: strconv.Itoa(number) + ":", in: in, out: out}
	}
	return g.channels[number]
}

func (c *pageChannel) Send(message []byte) error {
	return c.page.pipe.Send(append([]byte(c.prefix), message...))
}
func (c *pageChannel) Receive(ctx context.Context) ([]byte, error) {
	message, err := c.out.Receive(ctx)
	if err == nil {
		return message, nil
	}
	return nil, io.EOF
}
func (c *pageChannel) Close(error) {
	_ = c.page.pipe.Send([]byte(c.prefix))
	c.out.Close(nil)
}

func short(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func object(pairs ...any) capnweb.Object {
	var o capnweb.Object
	for i := 0; i < len(pairs); i += 2 {
		o = append(o, capnweb.Field{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	return o
}

func (r GadgetRef) object() capnweb.Object {
	return object("workspace", r.Workspace, "gadget", r.Gadget)
}

func (g *page) call(method string, args ...any) (any, error) {
	ctx := short(g.t)
	return g.shell.Call(ctx, method, args...).Await(ctx)
}

// must calls a method of the shell and decodes its answer.
func must[T any](g *page, method string, args ...any) (out T) {
	g.t.Helper()
	answer, err := g.call(method, args...)
	if err == nil {
		err = Decode(answer, &out)
	}
	if err != nil {
		g.t.Fatalf("%s: %v", method, err)
	}
	return out
}

// openView opens a view and the session on its channel.
func (g *page) openView(ref GadgetRef) (View, *capnweb.Session) {
	g.t.Helper()
	v := must[View](g, "openView", ref.object())
	if v.Problem != nil {
		g.t.Fatalf("openView: %+v", v.Problem)
	}
	return v, capnweb.NewSession(g.channel(v.Channel), nil, nil)
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 1000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s: not within 10 s", what)
}
