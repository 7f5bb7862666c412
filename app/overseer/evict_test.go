package overseer

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"toolshed/app/code"
	"toolshed/runtime/capnweb"
)

// A hit is right if it is the next one of its caller.
const sleeper = `import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject {
  async hit(who, n) {
    const s = this.ctx.storage, last = (await s.get(who)) ?? 0;
    await s.put(who, n);
    return last === n - 1 ? n : "after " + last + " came " + n;
  }
  remember(x) { this.x = x; }
  remembered() { return this.x ?? null; }
  fill(bytes) { this.kept = new Uint8Array(bytes).fill(7); return this.kept.length; }
  timer() { this.t = setTimeout(() => {}, 1e7); }
  endTimer() { clearTimeout(this.t); }
  later() { this.ctx.waitUntil(new Promise((done) => { this.done = done; })); }
  hang() { return new Promise((done) => { this.done = done; }); }
  finish() { this.done(1); }
  keep(f) { this.kept = f.dup(); }
  drop() { this.kept[Symbol.dispose](); }
  lend() { return () => 1; }
  stream() { return new ReadableStream({ start: (c) => { this.out = c; c.enqueue("one"); } }); }
  endStream() { this.out.close(); }
  async read(stream) { this.reader = stream.getReader(); return (await this.reader.read()).value; }
  async readOn() { return (await this.reader.read()).done; }
  transact(f) { const kept = f.dup(); this.ctx.storage.transaction(() => kept()).then(() => kept[Symbol.dispose]()); }
  callOut(f) { this.kept = f.dup(); this.kept("hello"); }
  async wake(ms) { await this.ctx.storage.setAlarm(Date.now() + ms); }
  async alarm() { this.ctx.storage.kv.put("rung", 1); await new Promise((done) => { this.done = done; }); }
  rung() { return this.ctx.storage.kv.get("rung") ?? 0; }
}`

func gadgetOf(t *testing.T, k *Kernel, ref Ref) *gadget {
	t.Helper()
	g, err := k.findGadget(ref)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *gadget) running() *run {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.run
}

// evictNow tries to evict whatever runs.
func (g *gadget) evictNow() bool {
	r := g.running()
	return r != nil && g.evict(context.Background(), r)
}

// evicted evicts the gadget and waits for the end of what ran.
func evicted(t *testing.T, k *Kernel, ref Ref) {
	t.Helper()
	g := gadgetOf(t, k, ref)
	r := g.running()
	waitFor(t, g.evictNow)
	<-r.ended
}

// However often a gadget is evicted while many call it: every call is answered once, and those of one caller arrive in
// their order, whether it is a connection or a part of this program.
func TestCallsAndEvictions(t *testing.T) {
	k := openKernel(t, t.TempDir())
	ref := makeGadget(t, k, sleeper)
	g := gadgetOf(t, k, ref)
	stop := make(chan struct{})
	evictions := 0
	var evictor, callers sync.WaitGroup
	evictor.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if g.evictNow() {
				evictions++
			}
			time.Sleep(100 * time.Microsecond)
		}
	})
	for c := range 8 {
		callers.Go(func() { hitOften(t, k, ref, fmt.Sprint("caller ", c), c%2 == 0) })
	}
	callers.Wait()
	close(stop)
	evictor.Wait()
	if evictions < 5 {
		t.Errorf("the gadget was evicted %d times: nothing is shown", evictions)
	}
	t.Logf("%d evictions", evictions)
	if lines, _, end, err := k.Console(ref); err != nil || len(lines) != 0 {
		t.Errorf("the console says %v (%v)", lines, err)
	} else {
		end()
	}
}

// hitOften makes bursts of calls, with pauses between them.
func hitOften(t *testing.T, k *Kernel, ref Ref, who string, remote bool) {
	stub, err := k.Connect(ref)
	if err != nil {
		t.Error(err)
		return
	}
	defer stub.Dispose()
	if remote {
		here, there := capnweb.Pipe()
		server := capnweb.NewSession(there, stub, nil)
		client := capnweb.NewSession(here, nil, nil)
		defer func() { client.Close(); <-client.Done(); <-server.Done() }()
		stub = client.Main()
		defer stub.Dispose()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for n := 0; n < 60; {
		var burst []*capnweb.Promise
		for range 1 + rand.IntN(4) {
			n++
			burst = append(burst, stub.Call(ctx, "hit", who, n))
		}
		for i, p := range burst {
			want := float64(n - len(burst) + 1 + i)
			if got, err := p.Await(ctx); err != nil || got != want {
				t.Errorf("%s: hit %v was answered %v, %v", who, want, got, err)
				return
			}
			p.Dispose()
		}
		time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
	}
}

// An evicted gadget keeps what it stored, gives its memory back, and is started by the next call. What it had in memory is
// gone. Its views and callers have the capability they had.
func TestAnEvictedGadgetGivesItsMemoryBack(t *testing.T) {
	k := openKernel(t, t.TempDir())
	first := makeGadget(t, k, sleeper, "gadget.hit()")
	refs := []Ref{first}
	for n := range 5 {
		ref, err := k.create(NewGadget{Title: fmt.Sprint("G", n), Workspace: first.Workspace}, code.Files{"server.js": []byte(sleeper)})
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	view, err := k.OpenView(first)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	for _, ref := range refs {
		must(t, k, ref, "hit", "me", 1)
		must(t, k, ref, "remember", "this")
	}
	child := gadgetOf(t, k, first).running().child
	before, err := child.Memory()
	if err != nil {
		t.Skip("this system does not tell how much memory a child has:", err)
	}
	const size = 24 << 20
	for _, ref := range refs {
		must(t, k, ref, "fill", size)
	}
	full, err := child.Memory()
	if err != nil || full-before < int64(len(refs))*size*9/10 {
		t.Fatalf("the child has %d bytes more for %d times %d (%v)", full-before, len(refs), size, err)
	}
	for _, ref := range refs {
		evicted(t, k, ref)
		if got := status(t, k, ref); got != Idle {
			t.Errorf("an evicted gadget is %s", got)
		}
	}
	waitFor(t, func() bool {
		after, err := child.Memory()
		return err == nil && after-before < (full-before)/10
	})
	for _, ref := range refs {
		if got := must(t, k, ref, "remembered"); got != nil {
			t.Errorf("after the eviction it remembers %v", got)
		}
		if got := must(t, k, ref, "hit", "me", 2); got != 2.0 {
			t.Errorf("after the eviction: %v", got)
		}
	}
	if got, err := view.Stub.Call(t.Context(), "hit", "me", 3).Await(t.Context()); err != nil || got != 3.0 {
		t.Errorf("through the view that was open all the time: %v, %v", got, err)
	}
}

// A gadget that has something to do is not evicted, whatever it is, and is once that has ended.
func TestWhatHasSomethingToDoIsNotEvicted(t *testing.T) {
	k := openKernel(t, t.TempDir())
	double := func(context.Context, []any) (any, error) { return nil, nil }
	for name, begin := range map[string]func(t *testing.T, stub *capnweb.Stub, does func(string, ...any) any) (end func()){
		"a timer": func(t *testing.T, _ *capnweb.Stub, does func(string, ...any) any) func() {
			does("timer")
			return func() { does("endTimer") }
		},
		"waitUntil": func(t *testing.T, _ *capnweb.Stub, does func(string, ...any) any) func() {
			does("later")
			return func() { does("finish") }
		},
		"a transaction": func(t *testing.T, _ *capnweb.Stub, does func(string, ...any) any) func() {
			answer, resolve, _ := capnweb.NewPromise()
			f := capnweb.NewStub(capnweb.Func(func(context.Context, []any) (any, error) { return answer, nil }))
			does("transact", f)
			f.Dispose()
			return func() { resolve(nil) }
		},
		"a call to it": func(t *testing.T, stub *capnweb.Stub, does func(string, ...any) any) func() {
			p := stub.Call(t.Context(), "hang")
			does("rung")
			return func() { does("finish"); p.Dispose() }
		},
		"a call from it": func(t *testing.T, _ *capnweb.Stub, does func(string, ...any) any) func() {
			answer, resolve, _ := capnweb.NewPromise()
			f := capnweb.NewStub(capnweb.Func(func(context.Context, []any) (any, error) { return answer, nil }))
			does("callOut", f)
			f.Dispose()
			return func() { resolve(nil); does("drop") }
		},
		"a callback that it keeps": func(t *testing.T, _ *capnweb.Stub, does func(string, ...any) any) func() {
			f := capnweb.NewStub(capnweb.Func(double))
			does("keep", f)
			f.Dispose()
			return func() { does("drop") }
		},
		"something of its own that somebody keeps": func(t *testing.T, _ *capnweb.Stub, does func(string, ...any) any) func() {
			lent := does("lend").(*capnweb.Stub)
			return lent.Dispose
		},
		"a stream that it writes": func(t *testing.T, _ *capnweb.Stub, does func(string, ...any) any) func() {
			s := does("stream").(*capnweb.Stream)
			if v, err := s.Read(t.Context()); err != nil || v != "one" {
				t.Fatal(v, err)
			}
			return func() {
				does("endStream")
				if _, err := s.Read(t.Context()); err != io.EOF {
					t.Error(err)
				}
			}
		},
		"a stream that it reads": func(t *testing.T, _ *capnweb.Stub, does func(string, ...any) any) func() {
			more, n := make(chan struct{}), 0
			s := capnweb.NewStream(func(ctx context.Context) (any, error) {
				if n++; n == 1 {
					return "one", nil
				}
				select {
				case <-more:
				case <-ctx.Done():
				}
				return nil, io.EOF
			})
			if v := does("read", s); v != "one" {
				t.Fatal(v)
			}
			return func() { close(more); does("readOn") }
		},
		"its alarm": func(t *testing.T, _ *capnweb.Stub, does func(string, ...any) any) func() {
			does("wake", 1)
			waitFor(t, func() bool { return does("rung") == 1.0 })
			return func() { does("finish") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			ref := makeGadget(t, k, sleeper)
			stub, err := k.Connect(ref)
			if err != nil {
				t.Fatal(err)
			}
			defer stub.Dispose()
			end := begin(t, stub, func(method string, args ...any) any { return must(t, k, ref, method, args...) })
			g := gadgetOf(t, k, ref)
			for range 20 {
				if g.evictNow() {
					t.Fatalf("it was evicted although there is %s", name)
				}
				time.Sleep(time.Millisecond)
			}
			end()
			evicted(t, k, ref)
		})
	}
}

// A call that comes while a gadget is asked whether it has something to do keeps it, also if it has had its answer.
func TestACallKeepsTheGadget(t *testing.T) {
	k := openKernel(t, t.TempDir())
	ref := makeGadget(t, k, sleeper)
	must(t, k, ref, "remember", "this")
	g := gadgetOf(t, k, ref)
	r, err := g.enter()
	if err != nil {
		t.Fatal(err)
	}
	if g.evictNow() {
		t.Error("it was evicted with somebody in it")
	}
	calls := r.calls
	r.leave()
	must(t, k, ref, "rung")
	if waitFor(t, func() bool { return r.quiet(t.Context()) }); g.letGo(r, calls) {
		t.Error("it was evicted although it was called since")
	}
	if got := must(t, k, ref, "remembered"); got != "this" {
		t.Errorf("it remembers %v", got)
	}
	evicted(t, k, ref)
	if got := must(t, k, ref, "remembered"); got != nil {
		t.Errorf("it remembers %v", got)
	}
}

// What is idle is evicted by itself, with its view open; its alarm wakes it, without anybody calling it.
func TestIdleGadgetsAreEvicted(t *testing.T) {
	k := openKernel(t, t.TempDir(), func(o *Options) { o.GadgetIdle = 20 * time.Millisecond })
	ref := makeGadget(t, k, waker, "gadget.rung()")
	view, err := k.OpenView(ref)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	must(t, k, ref, "wakeIn", 1500)
	waitFor(t, func() bool { return status(t, k, ref) == Idle })
	if len(indexed(t, k, ref)) != 1 {
		t.Fatal("the alarm was given before the eviction: nothing is shown")
	}
	waitFor(t, func() bool { return len(indexed(t, k, ref)) == 0 })
	waitFor(t, func() bool { return status(t, k, ref) == Idle })
	if got, err := view.Stub.Call(t.Context(), "rung").Await(t.Context()); err != nil || got != 1.0 {
		t.Errorf("the alarm was given %v times (%v)", got, err)
	}
	if lines, _, end, err := k.Console(ref); err != nil || len(lines) != 0 {
		t.Errorf("the console says %v (%v)", lines, err)
	} else {
		end()
	}
}
