package overseer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolshed/app/code"
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

func openKernel(t *testing.T, folder string, change ...func(*Options)) *Kernel {
	t.Helper()
	o := Options{
		Folder: folder,
		Child:  func() (*exec.Cmd, error) { return exec.Command(os.Args[0], "gadget-host"), nil },
		Build:  testBuild,
		Cache:  engineCache,
		Author: "Ada",

		NoSpare: true,
		Log:     slog.New(slog.NewTextHandler(testWriter{t}, nil)),
	}
	for _, c := range change {
		c(&o)
	}
	k, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// makeGadget makes a gadget of the given server code, and of client code if there is any.
func makeGadget(t *testing.T, k *Kernel, server string, client ...string) Ref {
	t.Helper()
	files := code.Files{"server.js": []byte(server)}
	if len(client) > 0 {
		files["client.js"] = []byte(client[0])
	}
	ref, err := k.create(NewGadget{Title: "Test", Blueprint: "test"}, files)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

const counter = `import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject {
  async add(n) { const sum = ((await this.ctx.storage.get("n")) ?? 0) + n; await this.ctx.storage.put("n", sum); return sum; }
  order(list, x) { (this.seen ??= []).push(x); return this.seen.length; }
  seenSoFar() { return this.seen; }
  spin() { while (true) {} }
  attack() { return Array.prototype.indexOf.call({ length: 4294967295 }, 99); }
  say(text) { console.warn("said", text); }
  fail() { throw new RangeError("on purpose"); }
  async self(n) { return await this.env.GADGET.add(n); }
  keep(f) { this.kept = f.dup(); }
  async use(x) { return await this.kept(x); }
}`

func call(t *testing.T, k *Kernel, ref Ref, method string, args ...any) (any, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	stub, err := k.Connect(ref)
	if err != nil {
		return nil, err
	}
	defer stub.Dispose()
	return stub.Call(ctx, method, args...).Await(ctx)
}

func must(t *testing.T, k *Kernel, ref Ref, method string, args ...any) any {
	t.Helper()
	v, err := call(t, k, ref, method, args...)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return v
}

func TestWhatAGadgetStoresOutlivesTheProgram(t *testing.T) {
	folder := t.TempDir()
	k := openKernel(t, folder)
	ref := makeGadget(t, k, counter)
	must(t, k, ref, "add", 2)
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k = openKernel(t, folder)
	if got := must(t, k, ref, "add", 3); got != 5.0 {
		t.Errorf("after a restart the sum is %v", got)
	}
	if got := must(t, k, ref, "self", 1); got != 6.0 {
		t.Errorf("through its own binding the sum is %v", got)
	}
}

func TestCallsReachAStartingGadgetInOrder(t *testing.T) {
	k := openKernel(t, t.TempDir())
	ref := makeGadget(t, k, counter)
	stub, err := k.Connect(ref)
	if err != nil {
		t.Fatal(err)
	}
	defer stub.Dispose()
	ctx := context.Background()
	var last *capnweb.Promise
	for i := range 50 {
		last = stub.Call(ctx, "order", nil, i)
	}
	if _, err := last.Await(ctx); err != nil {
		t.Fatal(err)
	}
	seen := must(t, k, ref, "seenSoFar").([]any)
	for i, x := range seen {
		if x != float64(i) {
			t.Fatalf("calls arrived as %v", seen)
		}
	}
	if len(seen) != 50 {
		t.Errorf("%d of 50 calls arrived", len(seen))
	}
}

func TestARunawayStopsAndItsNeighboursGoOn(t *testing.T) {
	k := openKernel(t, t.TempDir(), func(o *Options) { o.Limits = host.Limits{Soft: 2 * time.Second, Hard: 3 * time.Second} })
	bad := makeGadget(t, k, counter)
	good, err := k.create(NewGadget{Title: "Neighbour", Workspace: bad.Workspace}, code.Files{"server.js": []byte(counter)})
	if err != nil {
		t.Fatal(err)
	}
	goodRef := Ref{bad.Workspace, good.Gadget}
	must(t, k, bad, "add", 1)
	for _, method := range []string{"spin", "attack"} {
		failed := make(chan error, 1)
		go func() {
			_, err := call(t, k, bad, method)
			failed <- err
		}()
		answers := 0
		for done := false; !done; {
			select {
			case err := <-failed:
				if err == nil {
					t.Errorf("%s came back", method)
				}
				done = true
			default:
				must(t, k, goodRef, "add", 1)
				answers++
			}
		}
		if answers < 10 {
			t.Errorf("during %s the neighbour answered %d times", method, answers)
		}
		if got := must(t, k, bad, "add", 0); got != 1.0 {
			t.Errorf("after %s the stored sum is %v", method, got)
		}
	}
}

func TestBrokenCodeSaysWhatIsWrong(t *testing.T) {
	k := openKernel(t, t.TempDir())
	for server, want := range map[string]string{
		"export class Gadget {": host.KindSyntax,
		"export class Other {}": host.KindNoGadget,
		`import { DurableObject } from "cloudflare:workers"; export class Gadget extends DurableObject { constructor(c, e) { super(c, e); throw new Error("no") } }`: host.KindStart,
		`import x from "left-pad"; export class Gadget {}`: host.KindSyntax,
	} {
		ref := makeGadget(t, k, server)
		_, err := call(t, k, ref, "anything")
		var p *Problem
		if p = Explain(err); p.Kind != want || p.What == "" || p.Todo == "" {
			t.Errorf("%s: %+v", server, p)
		}
		g, _ := k.findGadget(ref)
		if d := g.describe(); d.Status != Stopped || d.Problem == nil {
			t.Errorf("%s: the gadget is %s, %v", server, d.Status, d.Problem)
		}
		if lines, _, stop, _ := k.Console(ref); len(lines) == 0 {
			t.Errorf("%s: nothing in the console", server)
		} else {
			stop()
		}
	}
	ref, err := k.create(NewGadget{Title: "No server"}, code.Files{"client.js": nil})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, k, ref, "anything"); !errors.Is(err, code.ErrNoServer) {
		t.Errorf("a gadget without a server half: %v", err)
	}
}

func TestAGadgetThatKeepsDyingIsLeftStopped(t *testing.T) {
	k := openKernel(t, t.TempDir(), func(o *Options) { o.Limits = host.Limits{Soft: time.Hour, Hard: 100 * time.Millisecond} })
	ref := makeGadget(t, k, counter)
	for range deaths {
		if _, err := call(t, k, ref, "spin"); err == nil {
			t.Fatal("spin came back")
		}
		waitFor(t, func() bool { return status(t, k, ref) != Running })
	}
	if got := status(t, k, ref); got != Stopped {
		t.Fatalf("after %d deaths the gadget is %s", deaths, got)
	}
	if _, err := call(t, k, ref, "add", 1); err == nil || Explain(err).Kind != host.KindCPU {
		t.Errorf("a call to the stopped gadget: %v", err)
	}
	if err := k.Restart(ref); err != nil {
		t.Fatal(err)
	}
	must(t, k, ref, "add", 1)
}

func status(t *testing.T, k *Kernel, ref Ref) string {
	t.Helper()
	g, err := k.findGadget(ref)
	if err != nil {
		t.Fatal(err)
	}
	return g.describe().Status
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for range 500 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it did not happen within 5 s")
}

func TestRenameDeleteAndTrash(t *testing.T) {
	folder := t.TempDir()
	k := openKernel(t, folder)
	ref := makeGadget(t, k, counter)
	must(t, k, ref, "add", 1)
	if err := k.RenameGadget(ref, "  Sums "); err != nil {
		t.Fatal(err)
	}
	if err := k.RenameGadget(ref, "\n"); Explain(err).Kind != "title" {
		t.Errorf("an empty title: %v", err)
	}
	if found, err := k.Resolve("sums"); err != nil || found != ref {
		t.Errorf("Resolve by title: %v, %v", found, err)
	}
	if err := k.DeleteGadget(ref); err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, k, ref, "add", 1); Explain(err).Kind != "no-gadget-here" {
		t.Errorf("a call to a deleted gadget: %v", err)
	}
	if err := k.DeleteWorkspace(ref.Workspace); err != nil {
		t.Fatal(err)
	}
	if list := k.Workspaces(); len(list) != 0 {
		t.Errorf("after deleting there is %v", list)
	}
	trash, _ := os.ReadDir(filepath.Join(folder, "trash"))
	trash = slices.DeleteFunc(trash, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), ".backups") })
	if len(trash) != 2 {
		t.Errorf("the trash holds %v", trash)
	}
	if err := k.EmptyTrash(time.Now()); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.ReadDir(filepath.Join(folder, "trash")); len(again) < 2 {
		t.Error("the trash was emptied too early")
	}
	if err := k.EmptyTrash(time.Now().Add((TrashDays + 1) * 24 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.ReadDir(filepath.Join(folder, "trash")); len(again) != 0 {
		t.Errorf("the trash still holds %v", again)
	}
}

func TestADamagedWorkspaceIsListedAndLeftAlone(t *testing.T) {
	folder := t.TempDir()
	k := openKernel(t, folder)
	ref, other := makeGadget(t, k, counter), makeGadget(t, k, counter)
	k.Close()
	path := filepath.Join(folder, ref.Workspace, "workspace.db")
	if err := os.WriteFile(path, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	k = openKernel(t, folder)
	problems := 0
	for _, w := range k.Workspaces() {
		if w.Problem != nil {
			problems++
			if w.ID != ref.Workspace || w.Problem.Kind != "damaged" {
				t.Errorf("%s: %+v", w.ID, w.Problem)
			}
		}
	}
	if problems != 1 {
		t.Errorf("%d workspaces have a problem", problems)
	}
	must(t, k, other, "add", 1)
	if text, _ := os.ReadFile(path); string(text) != "rubbish" {
		t.Error("the damaged file was changed")
	}
}

func TestADamagedDataFileStopsOnlyItsGadget(t *testing.T) {
	folder := t.TempDir()
	k := openKernel(t, folder)
	ref := makeGadget(t, k, counter)
	must(t, k, ref, "add", 1)
	k.Close()
	path := filepath.Join(folder, ref.Workspace, "gadgets", ref.Gadget+".db")
	if err := os.WriteFile(path, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	k = openKernel(t, folder)
	_, err := call(t, k, ref, "add", 1)
	if p := Explain(err); p.Kind != "damaged" || !strings.Contains(p.Why, ref.Gadget) {
		t.Errorf("%+v", p)
	}
	if text, _ := os.ReadFile(path); string(text) != "rubbish" {
		t.Error("the damaged file was changed")
	}
}

func TestConsoleLinesReachAWatcher(t *testing.T) {
	k := openKernel(t, t.TempDir())
	ref := makeGadget(t, k, counter)
	_, later, stop, err := k.Console(ref)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	must(t, k, ref, "say", "hello")
	if _, err := call(t, k, ref, "fail"); err == nil || !strings.Contains(err.Error(), "on purpose") {
		t.Errorf("fail answered %v", err)
	}
	if err := k.Report(ref, []Line{{Level: "error", Text: "from a view", Source: "server"}}); err != nil {
		t.Fatal(err)
	}
	var seen []string
	deadline := time.After(10 * time.Second)
	for len(seen) < 3 {
		select {
		case lines := <-later:
			for _, l := range lines {
				seen = append(seen, l.Source+" "+l.Level+" "+l.Text)
			}
		case <-deadline:
			t.Fatalf("only %q came", seen)
		}
	}
	all := strings.Join(seen, "\n")
	for _, want := range []string{"server warn said hello", "fail", "on purpose", "view error from a view"} {
		if !strings.Contains(all, want) {
			t.Errorf("the console lacks %q:\n%s", want, all)
		}
	}
}

func TestAKeptCallbackIsReleasedWhenTheGadgetRestarts(t *testing.T) {
	k := openKernel(t, t.TempDir())
	ref := makeGadget(t, k, counter)
	released := make(chan struct{})
	f := &capnweb.Table{
		Methods:   capnweb.Methods{"": func(ctx context.Context, args []any) (any, error) { return args[0].(float64) * 2, nil }},
		OnDispose: func() { close(released) },
	}
	mine := capnweb.NewStub(f)
	must(t, k, ref, "keep", mine)
	mine.Dispose() // the gadget's is the only reference left
	if got := must(t, k, ref, "use", 21); got != 42.0 {
		t.Errorf("the kept callback answered %v", got)
	}
	select {
	case <-released:
		t.Fatal("the callback was released while it was kept")
	default:
	}
	if err := k.Restart(ref); err != nil {
		t.Fatal(err)
	}
	select {
	case <-released:
	case <-time.After(10 * time.Second):
		t.Error("the callback was not released")
	}
}

func TestAnEmptyChildEndsAndAnInnocentGadgetIsNotStopped(t *testing.T) {
	k := openKernel(t, t.TempDir(), func(o *Options) { o.ChildIdle = 20 * time.Millisecond })
	ref := makeGadget(t, k, counter)
	for i := range deaths + 1 {
		if got := must(t, k, ref, "add", 1); got != float64(i+1) {
			t.Fatalf("the sum is %v", got)
		}
		// As if another gadget had brought it down.
		waitFor(t, func() bool { return !busy(t, k, ref) })
		killChild(t, k, host.Place{Workspace: ref.Workspace})
		waitFor(t, func() bool { return status(t, k, ref) != Running })
	}
	if got := status(t, k, ref); got != Idle {
		t.Fatalf("after %d deaths of its child the gadget is %s", deaths+1, got)
	}
	must(t, k, ref, "add", 1)
	pid := childOf(t, k, host.Place{Workspace: ref.Workspace})
	if err := k.DeleteGadget(ref); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return !alive(pid) })
}

// childOf returns the process that gadgets of that place run in.
func childOf(t *testing.T, k *Kernel, at host.Place) int {
	t.Helper()
	seat, err := k.children.Enter(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer seat.Leave()
	return seat.Child.PID()
}

func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}

func killChild(t *testing.T, k *Kernel, at host.Place) {
	t.Helper()
	if p, err := os.FindProcess(childOf(t, k, at)); err != nil || p.Kill() != nil {
		t.Fatalf("the child is not there: %v", err)
	}
}

// A gadget in whose turn the child died twice gets a child of its own, and is stopped when it ends that one too. Its
// neighbour, and a gadget that only was there, are never stopped.
func TestQuarantine(t *testing.T) {
	k := openKernel(t, t.TempDir(), func(o *Options) { o.Limits = host.Limits{Soft: time.Minute, Hard: time.Minute} })
	bad := makeGadget(t, k, counter)
	good, err := k.create(NewGadget{Title: "Good", Blueprint: "test", Workspace: bad.Workspace}, code.Files{"server.js": []byte(counter)})
	if err != nil {
		t.Fatal(err)
	}
	shared := host.Place{Workspace: bad.Workspace}
	own := host.Place{Workspace: bad.Workspace, Purpose: host.ForQuarantine, Gadget: bad.Gadget}
	for i, at := range []host.Place{shared, shared, own} {
		if got := must(t, k, good, "add", 1); got != float64(i+1) {
			t.Fatalf("the neighbour's sum is %v", got)
		}
		must(t, k, bad, "add", 1)
		failed := make(chan error, 1)
		go func() {
			_, err := call(t, k, bad, "spin")
			failed <- err
		}()
		waitFor(t, func() bool { return busy(t, k, bad) })
		killChild(t, k, at)
		if err := <-failed; Explain(err).Kind != host.KindChild {
			t.Fatalf("the caller hears %v", err)
		}
		waitFor(t, func() bool { return status(t, k, bad) != Running })
	}
	if got := status(t, k, bad); got != Stopped {
		t.Fatalf("the gadget is %s", got)
	}
	g, _ := k.findGadget(bad)
	if p := g.describe().Problem; p == nil || !strings.Contains(p.What, "again and again") {
		t.Errorf("the person is told %v", p)
	}
	if got := must(t, k, good, "add", 1); got != 4.0 {
		t.Errorf("the neighbour's sum is %v", got)
	}
	if err := k.Restart(bad); err != nil {
		t.Fatal(err)
	}
	if got := must(t, k, bad, "add", 1); got != 4.0 {
		t.Errorf("after a restart the sum is %v", got)
	}
}

// busy tells whether a call is on its way to the gadget's instance.
func busy(t *testing.T, k *Kernel, ref Ref) bool {
	t.Helper()
	g, err := k.findGadget(ref)
	if err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	return g.run != nil && g.run.instance != nil && !g.run.instance.Quiet(ctx)
}

func TestChildrenEndWithTheKernel(t *testing.T) {
	k := openKernel(t, t.TempDir())
	ref := makeGadget(t, k, counter)
	must(t, k, ref, "add", 1)
	pid := childOf(t, k, host.Place{Workspace: ref.Workspace})
	k.Close()
	if alive(pid) {
		t.Error("the child outlives the kernel")
	}
}
