package api

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"toolshed/runtime/capnweb"
)

// callback is a page's function; each call of it waits for a value from gate, if there is one.
func callback(gate chan bool, f func(any)) *capnweb.Stub {
	return capnweb.NewStub(capnweb.Func(func(ctx context.Context, args []any) (any, error) {
		return capnweb.Async(ctx, func(ctx context.Context) (any, error) {
			f(args[0])
			if gate != nil {
				select {
				case <-gate:
				case <-ctx.Done():
				}
			}
			return capnweb.Undefined{}, nil
		}), nil
	}))
}

func notices(t *testing.T, state any) int {
	var s State
	if err := Decode(state, &s); err != nil {
		t.Error(err)
	}
	return len(s.Notices)
}

func TestChangesDuringACallAreOneCall(t *testing.T) {
	p := newProgram(t)
	g := p.open()
	gate := make(chan bool)
	states := make(chan int, 1000)
	if _, err := g.call("watch", object("onState", callback(gate, func(s any) { states <- notices(t, s) }))); err != nil {
		t.Fatal(err)
	}
	if n := <-states; n != 0 {
		t.Errorf("the first state has %d notices", n)
	}
	for i := range 100 {
		p.Notify(Notice{ID: fmt.Sprint(i), Level: "info", Text: "x"})
	}
	gate <- true
	if n := <-states; n != 100 {
		t.Errorf("the second state has %d notices", n)
	}
	gate <- true
	if _, err := g.call("dismissNotice", object("id", "7")); err != nil {
		t.Fatal(err)
	}
	calls := 2
	for n := 0; n != 99; calls++ { // a change that was noted while the second state was made may be told once more
		n = <-states
		gate <- true
	}
	if calls > 4 {
		t.Errorf("101 changes were told in %d calls", calls)
	}
}

func TestAStuckCallbackEndsItsOwnSubscriptionOnly(t *testing.T) {
	p := newProgram(t)
	p.patience = 100 * time.Millisecond
	g := p.open()
	var stuckCalls atomic.Int32
	stuck := make(chan bool)
	seen := make(chan int, 100)
	for _, c := range []*capnweb.Stub{callback(stuck, func(any) { stuckCalls.Add(1) }), callback(nil, func(s any) { seen <- notices(t, s) })} {
		if _, err := g.call("watch", object("onState", c)); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(300 * time.Millisecond)
	close(stuck) // too late
	p.Notify(Notice{ID: "a", Level: "info", Text: "x"})
	deadline := time.After(10 * time.Second)
	for n := 0; n != 1; {
		select {
		case n = <-seen:
		case <-deadline:
			t.Fatal("the other subscription was told nothing")
		}
	}
	time.Sleep(50 * time.Millisecond)
	if n := stuckCalls.Load(); n != 1 {
		t.Errorf("the stuck callback was called %d times", n)
	}
}

func TestASubscriptionEndsWhenItIsStoppedOrDisposed(t *testing.T) {
	p := newProgram(t)
	g := p.open()
	for name, stop := range map[string]func(*capnweb.Stub){
		"stopped": func(s *capnweb.Stub) {
			if _, err := s.Call(short(t), "stop").Await(short(t)); err != nil {
				t.Error(err)
			}
		},
		"disposed": func(s *capnweb.Stub) { s.Dispose() },
	} {
		released := make(chan bool)
		var calls atomic.Int32
		f := capnweb.NewStub(&capnweb.Table{
			Methods:   capnweb.Methods{"": func(context.Context, []any) (any, error) { calls.Add(1); return nil, nil }},
			OnDispose: func() { close(released) },
		})
		subscription, err := g.call("watch", object("onState", f))
		if err != nil {
			t.Fatal(err)
		}
		f.Dispose()
		eventually(t, "the first state", func() bool { return calls.Load() > 0 })
		stop(subscription.(*capnweb.Stub))
		select {
		case <-released:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: the callback is still held", name)
		}
		before := calls.Load()
		p.Notify(Notice{ID: name, Level: "info", Text: "x"})
		time.Sleep(50 * time.Millisecond)
		if calls.Load() != before {
			t.Errorf("%s: the callback was called again", name)
		}
	}
}

func TestTheConsoleHasWhatWasAndWhatComes(t *testing.T) {
	p := newProgram(t)
	ref := p.gadget(`export class Gadget { say(x) { console.warn(x) } }`)
	g := p.open()
	report := func(text string) {
		t.Helper()
		line := object("level", "info", "text", text, "time", 1, "source", "server")
		if _, err := g.call("report", append(ref.object(), capnweb.Field{Key: "lines", Value: []any{line}})); err != nil {
			t.Fatal(err)
		}
	}
	report("before")
	lines := make(chan ConsoleLine, 100)
	onLines := callback(nil, func(v any) {
		var batch []ConsoleLine
		if err := Decode(v, &batch); err != nil {
			t.Error(err)
		}
		for _, l := range batch {
			lines <- l
		}
	})
	if _, err := g.call("console", append(ref.object(), capnweb.Field{Key: "onLines", Value: onLines})); err != nil {
		t.Fatal(err)
	}
	_, view := g.openView(ref)
	ctx := short(t)
	if _, err := view.Main().Call(ctx, "say", "hello").Await(ctx); err != nil {
		t.Fatal(err)
	}
	report("after")
	for _, want := range []string{"view before", "server hello", "view after"} {
		select {
		case l := <-lines:
			if l.Source+" "+l.Text != want {
				t.Errorf("the console has %+v, not %s", l, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("the console lacks %s", want)
		}
	}
}

func TestManyLinesOfAConsoleAreBounded(t *testing.T) {
	p := newProgram(t)
	ref := p.gadget()
	g := p.open()
	many := make([]any, 50_000)
	for i := range many {
		many[i] = object("level", "info", "text", "x", "time", 1, "source", "view")
	}
	if _, err := g.call("report", append(ref.object(), capnweb.Field{Key: "lines", Value: many})); err != nil {
		t.Fatal(err)
	}
	kept := make(chan int, 1)
	onLines := callback(nil, func(v any) { kept <- len(v.([]any)) })
	if _, err := g.call("console", append(ref.object(), capnweb.Field{Key: "onLines", Value: onLines})); err != nil {
		t.Fatal(err)
	}
	if n := <-kept; n == 0 || n > 1000 {
		t.Errorf("%d lines are kept", n)
	}
}
