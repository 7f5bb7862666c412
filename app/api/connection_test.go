package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"toolshed/runtime/capnweb"
	"toolshed/runtime/host"
)

func layout(t *testing.T, stub *capnweb.Stub) capnweb.Object {
	t.Helper()
	ctx := short(t)
	v, err := stub.Call(ctx, "snapshot").Await(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return v.(capnweb.Object)
}

func firstColumn(board capnweb.Object) any {
	columns, _ := board.Get("columns")
	id, _ := columns.([]any)[0].(capnweb.Object).Get("id")
	return id
}

// Two views of one Board: what one does the other is told; then each is closed from another side.
func TestTwoViewsOfOneGadget(t *testing.T) {
	p := newProgram(t)
	ref := p.gadget()
	g := p.open()
	one, first := g.openView(ref)
	two, second := g.openView(ref)
	if one.Channel == two.Channel || one.Frame == two.Frame || one.Code == "" || p.views(ref) != 2 {
		t.Fatalf("the views are %d %s and %d %s; %d are counted", one.Channel, one.Frame, two.Channel, two.Frame, p.views(ref))
	}
	told := make(chan any, 10)
	watcher := capnweb.NewStub(capnweb.Methods{"changed": func(_ context.Context, args []any) (any, error) {
		told <- args[0]
		return nil, nil
	}})
	ctx := short(t)
	if _, err := second.Main().Call(ctx, "watch", watcher).Await(ctx); err != nil {
		t.Fatal(err)
	}
	column := firstColumn(layout(t, first.Main()))
	if _, err := first.Main().Call(ctx, "addCard", column, "a card").Await(ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case <-told:
	case <-time.After(10 * time.Second):
		t.Error("the second view was told nothing")
	}
	if !p.TakeFrame(strings.TrimPrefix(one.Frame, "/frame/")) || p.TakeFrame(strings.TrimPrefix(one.Frame, "/frame/")) {
		t.Error("the first view's document cannot be fetched once")
	}
	first.Close() // the page's frame goes
	eventually(t, "the first view is gone", func() bool { return p.views(ref) == 1 })
	if _, err := second.Main().Call(ctx, "addCard", column, "another").Await(ctx); err != nil {
		t.Errorf("the view that stayed: %v", err)
	}
	if _, err := g.call("closeView", object("channel", two.Channel)); err != nil {
		t.Error(err)
	}
	eventually(t, "the second view is gone", func() bool { return p.views(ref) == 0 && g.wasClosed(two.Channel) })
	if _, err := second.Main().Call(ctx, "snapshot").Await(ctx); err == nil {
		t.Error("a closed view still reaches the gadget")
	}
	if three, _ := g.openView(ref); three.Channel == one.Channel || three.Channel == two.Channel {
		t.Errorf("channel %d is used again", three.Channel)
	}
}

// A view's channel leads to its gadget, and its kernel capability to nothing else.
func TestAViewReachesItsGadgetOnly(t *testing.T) {
	p := newProgram(t)
	g := p.open()
	_, view := g.openView(p.gadget())
	ctx := short(t)
	for _, method := range []string{"state", "deleteWorkspace", "openView", "createGadget", "list", "Forward", "Dispose", "__proto__"} {
		if v, err := view.Main().Call(ctx, method, object()).Await(ctx); err == nil {
			t.Errorf("%s answered %v", method, v)
		}
	}
}

func TestViewsAreBoundedHoweverTheyAreAskedFor(t *testing.T) {
	p := newProgram(t)
	ref := p.gadget()
	g := p.open()
	ctx := short(t)
	var asked []*capnweb.Promise
	for range maxViews + 20 { // all at once: none waits for another
		asked = append(asked, g.shell.Call(ctx, "openView", ref.object()))
	}
	opened, last := 0, View{}
	for _, a := range asked {
		v, err := a.Await(ctx)
		var e *capnweb.Error
		switch {
		case err == nil:
			opened++
			if err := Decode(v, &last); err != nil {
				t.Fatal(err)
			}
		case !errors.As(err, &e) || e.Name != "too-many-views":
			t.Fatal(err)
		}
	}
	if opened != maxViews || p.views(ref) != maxViews {
		t.Errorf("%d views were opened and %d are counted", opened, p.views(ref))
	}
	g.send(fmt.Sprintf("%d:", last.Channel))
	eventually(t, "one is closed", func() bool { return p.views(ref) == maxViews-1 })
	g.openView(ref)
	g.close()
	eventually(t, "the page's views are closed with it", func() bool { return p.views(ref) == 0 })
}

func TestAViewThatCannotOpenTakesNoPlace(t *testing.T) {
	p := newProgram(t)
	ref := p.gadget()
	broken := p.gadget()
	p.write(broken, map[string][]byte{"server.js": []byte("export class Gadget {}"), "client.js": []byte("export {")})
	headless := p.gadget()
	p.write(headless, map[string][]byte{"server.js": []byte("export class Gadget {}")})
	g := p.open()
	for range maxViews + 1 {
		if _, err := g.call("openView", object("workspace", ref.Workspace, "gadget", "none")); err == nil {
			t.Fatal("a gadget that does not exist has a view")
		}
	}
	for kind, bad := range map[string]GadgetRef{"syntax": broken, "headless": headless} {
		v := must[View](g, "openView", bad.object())
		if v.Problem == nil || v.Problem.Kind != kind || v.Problem.Todo == "" || v.Frame != "" || v.Channel != 0 {
			t.Errorf("%s: %+v", kind, v)
		}
	}
	g.openView(ref)
}

// Everything that a page held is let go when it goes, however it goes.
func TestAPageLeavesNothingBehind(t *testing.T) {
	p := newProgram(t)
	ref := p.gadget()
	ways := map[string]func(*page){
		"the page closes":           func(g *page) { g.pipe.Close(nil) },
		"the page breaks the rules": func(g *page) { g.send("nonsense") },
		"the shell's channel ends":  func(g *page) { g.send("0:") },
	}
	// What the gadget's own start leaves running is there before the count.
	g := p.open()
	_, v := g.openView(ref)
	layout(t, v.Main())
	g.close()
	for name, end := range ways {
		eventually(t, "before", func() bool { return p.views(ref) == 0 })
		before := settled()
		for range 5 {
			g := p.open()
			released := make(chan bool, 2)
			watcher := &capnweb.Table{
				Methods:   capnweb.Methods{"changed": func(context.Context, []any) (any, error) { return nil, nil }, "": func(context.Context, []any) (any, error) { return nil, nil }},
				OnDispose: func() { released <- true },
			}
			_, view := g.openView(ref)
			g.openView(ref)
			ctx := short(t)
			stub := capnweb.NewStub(watcher)
			if _, err := view.Main().Call(ctx, "watch", stub).Await(ctx); err != nil {
				t.Fatal(err)
			}
			for method, callback := range map[string]string{"watch": "onState", "console": "onLines"} {
				arg := append(ref.object(), capnweb.Field{Key: callback, Value: stub})
				if _, err := g.call(method, arg); err != nil {
					t.Fatal(err)
				}
			}
			stub.Dispose()
			end(g)
			g.wait()
			g.pipe.Close(nil)
			view.Close()
			select {
			case <-released:
			case <-time.After(10 * time.Second):
				t.Errorf("%s: the callbacks were not released", name)
			}
		}
		eventually(t, name+": views are closed", func() bool { return p.views(ref) == 0 })
		eventually(t, name+": goroutines end", func() bool { return runtime.NumGoroutine() <= before+3 })
	}
	if n := len(p.frames.open); n > maxFrames {
		t.Errorf("%d frame documents wait", n)
	}
}

// settled is the number of goroutines once it stays the same.
func settled() int {
	n := runtime.NumGoroutine()
	for range 20 {
		time.Sleep(20 * time.Millisecond)
		if m := runtime.NumGoroutine(); m != n {
			n = m
		}
	}
	return n
}

// feed is a pipe that gives prepared frames and then waits.
type feed struct {
	frames [][]byte
	sent   chan string
}

func (f *feed) Receive(ctx context.Context) ([]byte, error) {
	if len(f.frames) > 0 {
		frame := f.frames[0]
		f.frames = f.frames[1:]
		return frame, nil
	}
	return nil, io.EOF
}

func (f *feed) Send(frame []byte) error {
	f.sent <- string(frame)
	return nil
}

func (f *feed) Close(error) {}

// A flood on a view's channel ends the view; one on the shell's ends the page.
func TestFloodsAreBounded(t *testing.T) {
	large := make([]byte, 16<<20)
	for name, flood := range map[string]struct {
		message []byte
		times   int
	}{"messages": {[]byte("x"), maxQueued + 1}, "bytes": {large, maxQueuedBytes/len(large) + 1}} {
		for number, survives := range map[int]bool{0: false, 5: true} {
			pipe := &feed{sent: make(chan string, 10)}
			frame := append([]byte(fmt.Sprintf("%d:", number)), flood.message...)
			for range flood.times {
				pipe.frames = append(pipe.frames, frame)
			}
			c := &connection{box: newOutbox(), pipe: pipe, ctx: context.Background(), channels: map[int]*channel{}}
			for _, n := range []int{0, 5} { // nobody reads them
				c.channels[n] = newChannel(c, n)
			}
			err := c.read(context.Background())
			if survives && (err != io.EOF || c.channels[5] != nil || c.channels[0] == nil || string(c.box.take()) != "5:") {
				t.Errorf("%s on a view's channel: %v, and the channels are %v", name, err, c.channels)
			}
			if !survives && (err == nil || err == io.EOF) {
				t.Errorf("%s on the shell's channel: %v", name, err)
			}
		}
	}
	// One message less is no flood.
	c := &connection{box: newOutbox(), pipe: &feed{sent: make(chan string, 10)}, channels: map[int]*channel{}}
	ch := newChannel(c, 1)
	for range maxQueued {
		if err := ch.deliver([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if ch.deliver([]byte("x")) == nil {
		t.Error("there is no bound")
	}
	if _, err := ch.Receive(context.Background()); err != nil || ch.deliver([]byte("x")) != nil {
		t.Error("room that was made is not used")
	}
}

// Calls that are never waited for end the view that makes them, and nothing else.
func TestAFloodOfCallsEndsItsViewOnly(t *testing.T) {
	p := newProgram(t)
	ref := p.gadget(`export class Gadget { never() { return new Promise(() => {}) } one() { return 1 } }`)
	g := p.open()
	v, _ := g.openView(ref)
	_, other := g.openView(ref)
	ctx := short(t)
	if _, err := other.Main().Call(ctx, "one").Await(ctx); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 70_000 && !g.wasClosed(v.Channel); n++ {
		g.send(fmt.Sprintf(`%d:["push",["pipeline",0,["never"],[]]]`, v.Channel))
	}
	eventually(t, "the view is closed", func() bool { return g.wasClosed(v.Channel) && p.views(ref) == 1 })
	if _, err := g.call("state"); err != nil {
		t.Errorf("the page: %v", err)
	}
	eventually(t, "the other view answers", func() bool {
		_, err := other.Main().Call(ctx, "one").Await(ctx)
		return err == nil
	})
}

// A gadget's frame is told what happened and what to do, not where on this computer it happened.
func TestAFrameLearnsNoPaths(t *testing.T) {
	p := newProgram(t)
	ref := p.gadget()
	path := filepath.Join(p.folder, "workspaces", ref.Workspace, "gadgets", ref.Gadget+".db")
	if err := os.WriteFile(path, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := p.open()
	_, view := g.openView(ref)
	ctx := short(t)
	_, err := view.Main().Call(ctx, "snapshot").Await(ctx)
	var e *capnweb.Error
	if !errors.As(err, &e) || e.Name != "damaged" {
		t.Fatalf("the frame is told %v", err)
	}
	if text := fmt.Sprint(e.Message, e.Props); strings.Contains(text, p.folder) || strings.Contains(text, ref.Gadget) {
		t.Errorf("the frame is told %s", text)
	}
	if what, _ := e.Props.Get("what"); what == "" {
		t.Error("the frame is not told what happened")
	}
	shown := must[State](g, "state").Workspaces[0].Gadgets[0].Problem
	if shown == nil || !strings.Contains(shown.Why, path) {
		t.Errorf("the person is told %+v", shown)
	}
}

// What a gadget throws reaches its own frame as it is.
func TestAFrameIsThrownWhatItsGadgetThrows(t *testing.T) {
	p := newProgram(t)
	g := p.open()
	_, view := g.openView(p.gadget(liar))
	ctx := short(t)
	_, err := view.Main().Call(ctx, "lie").Await(ctx)
	var e *capnweb.Error
	if !errors.As(err, &e) || e.Name != "in-use" || e.Message != "x" {
		t.Errorf("got %#v", err)
	}
	_, err = view.Main().Call(ctx, "text").Await(ctx)
	var v *capnweb.Thrown
	if !errors.As(err, &v) || v.Value != "only words" {
		t.Errorf("got %#v", err)
	}
}

func TestTheShellAnswersWhileAGadgetSpins(t *testing.T) {
	p := newProgram(t, host.Limits{Soft: 2 * time.Second, Hard: 3 * time.Second})
	ref := p.gadget(liar)
	other := p.gadget()
	g := p.open()
	_, view := g.openView(ref)
	_, neighbour := g.openView(other)
	layout(t, neighbour.Main())
	ctx := short(t)
	spinning := view.Main().Call(ctx, "spin")
	answers := 0
	for begin := time.Now(); time.Since(begin) < time.Second; answers++ {
		if _, err := g.call("state"); err != nil {
			t.Fatal(err)
		}
		layout(t, neighbour.Main())
	}
	if answers < 5 {
		t.Errorf("in a second the page was answered %d times", answers)
	}
	if _, err := spinning.Await(ctx); err == nil {
		t.Error("spin came back")
	}
	if v, err := view.Main().Call(ctx, "echo", "again").Await(ctx); err != nil {
		t.Errorf("afterwards: %v, %v", v, err)
	}
}
