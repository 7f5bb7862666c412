package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"toolshed/app/api"
	"toolshed/app/code"
	"toolshed/app/overseer"
	"toolshed/runtime/capnweb"
	"toolshed/runtime/host"
)

const testBuild = "test"

// The test binary plays every other process of these tests: the sandbox's child, a program that writes until it is
// killed, and a stranger who dials a socket.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "gadget-host":
		os.Exit(host.ChildMain(testBuild))
	case len(os.Args) == 4 && os.Args[1] == "write-until-killed":
		writeUntilKilled(os.Args[2], os.Args[3])
	case len(os.Args) == 3 && os.Args[1] == "dial":
		conn, err := net.Dial("unix", os.Args[2])
		fmt.Println("dialled:", err)
		if err == nil {
			_, _ = conn.Read(make([]byte, 1)) // until the other side closes
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func settings(data string) Settings {
	return Settings{
		Data:  data,
		Build: testBuild,
		Child: func() (*exec.Cmd, error) { return exec.Command(os.Args[0], "gadget-host"), nil },
		Log:   slog.New(slog.DiscardHandler),
	}
}

// places gives a test a data folder and a runtime folder of its own. A socket's path must be short.
func places(t *testing.T) (data, run string) {
	t.Helper()
	run, err := os.MkdirTemp("", "shed")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	t.Setenv("XDG_RUNTIME_DIR", run)
	return filepath.Join(t.TempDir(), "data"), run
}

func open(t *testing.T, data string) *Program {
	t.Helper()
	p, err := Open(context.Background(), settings(data))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func attach(t *testing.T, data string) *api.Client {
	t.Helper()
	client, err := Attach(context.Background(), data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func short(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// gadget makes one with the given server code.
func gadget(t *testing.T, p *Program, server string) overseer.Ref {
	t.Helper()
	ref, err := p.Kernel.CreateGadget(overseer.NewGadget{Blueprint: "board"})
	if err != nil {
		t.Fatal(err)
	}
	sources, err := code.Open(filepath.Join(p.Profile.Folder(), "workspaces", ref.Workspace, "code.git"))
	if err == nil {
		_, err = sources.Commit(ref.Gadget, code.Files{"server.js": []byte(server)}, code.Change{Author: "Ada", Message: "Test\n", Time: time.Now()})
	}
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func call(ctx context.Context, client *api.Client, ref overseer.Ref, method string, args ...any) (any, error) {
	named := capnweb.Object{{Key: "gadget", Value: ref.Gadget}, {Key: "method", Value: method}}
	return client.Call(ctx, "call", append([]any{named}, args...)...)
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
