package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"toolshed/runtime/capnweb"
	"toolshed/runtime/host/sandbox"
	"toolshed/runtime/storage"
)

// Hostile gadgets run in a real child beside a neighbour that must not notice. Whoever calls one gets an answer, the
// instance ends for a reason that can be told or goes on, nothing of it is left, and its gadget starts again.

// hostile is a gadget that means harm, and what must become of it. The zero of what is wanted is a result, a gadget that
// goes on, and 1 as the answer to its next call.
type hostile struct {
	name    string
	top     string // of server.js, before the class
	code    string // of the method go, which is called
	members string // of the class, besides
	limits  Limits // zero: quick
	quota   int64  // of what it stores; zero: 1 GiB
	args    int    // bytes of go's argument
	start   string // in the error of its start, which fails
	err     string // in the error of go
	end     string // kind of the instance's end
	cut     bool   // go never comes back: the caller gives up, and the gadget is closed
	deaf    bool   // nor does anything after go
}

// The limits of the cases. quick is for what the engine can interrupt, blind for what only fuel stops, roomy for what
// is stopped by its memory.
var (
	quick = Limits{Memory: 16 << 20, Soft: 200 * time.Millisecond, Hard: 20 * time.Second}
	blind = Limits{Memory: 16 << 20, Soft: 150 * time.Millisecond, Hard: 600 * time.Millisecond}
	roomy = Limits{Memory: 16 << 20, Soft: 20 * time.Second, Hard: 20 * time.Second}
)

const (
	// Code that asks for the time has no start image, which would stay and count as what an attack has left.
	hostileHead = `import { DurableObject, RpcTarget, RpcStub } from "cloudflare:workers";
Date.now();
`
	outOfMemory = "memory: it needs more than its 16 MiB of memory"
	outOfTime   = "CPU time that one turn may use"
	outOfStack  = "RangeError: Maximum call stack size exceeded"
)

func (h hostile) spec() Spec {
	s := spec(hostileHead + h.top + `
export class Gadget extends DurableObject {
	ping() { return 1 }
	async go(arg, f) {
` + h.code + `
	}
	` + h.members + `
}`)
	if s.Limits = h.limits; h.limits == (Limits{}) {
		s.Limits = quick
	}
	s.Files["loop.js"] = []byte("for (;;);")
	s.Bindings = []string{"SINK"}
	s.Env = sink()
	return s
}

// sink is what hostile gadgets may call: a binding that takes anything, answers, or never does.
func sink() capnweb.Target {
	return &capnweb.Table{Properties: map[string]func(context.Context) (any, error){
		"SINK": func(context.Context) (any, error) {
			return capnweb.NewStub(capnweb.Methods{
				"take": func(context.Context, []any) (any, error) { return true, nil },
				"never": func(ctx context.Context, _ []any) (any, error) {
					return capnweb.Async(ctx, func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() }), nil
				},
			}), nil
		}}}
}

// neighbour is an honest gadget in the same child.
type neighbour struct {
	*Instance
	t     *testing.T
	quiet time.Duration // what a call takes when nobody disturbs
}

func newNeighbour(t *testing.T, c *Child) *neighbour {
	n := &neighbour{Instance: startReal(t, c, spec(counterCode)), t: t}
	const calls = 50
	from := time.Now()
	for range calls {
		n.ping()
	}
	n.quiet = time.Since(from) / calls
	return n
}

func (n *neighbour) ping() {
	p := n.Main().Call(n.t.Context(), "ping")
	if v, err := await(n.t, p); err != nil || v != 1.0 {
		n.t.Errorf("the neighbour: %v, %v", v, err)
	}
	p.Dispose()
}

// during calls the neighbour all the time while f runs. Every call must be answered, and so many as a starved neighbour
// would not come to.
func (n *neighbour) during(f func()) (pings int) {
	done := make(chan struct{})
	from := time.Now()
	go func() { defer close(done); f() }()
	for {
		n.ping()
		pings++
		select {
		case <-done:
			if most := int(time.Since(from) / (100 * max(n.quiet, time.Microsecond))); pings < min(most, 5) {
				n.t.Errorf("the neighbour answered %d times only", pings)
			}
			return pings
		default:
		}
	}
}

// attack runs one case: the call, the end, the tables, and the start after it.
func (h hostile) attack(t *testing.T, c *Child) {
	s := h.spec()
	if h.quota > 0 {
		s.Storage = quotaStore(t, h.quota)
	}
	if store, ok := s.Storage.(io.Closer); ok {
		defer store.Close()
	}
	i, err := c.Start(t.Context(), s)
	if h.start != "" {
		if err == nil || !strings.Contains(err.Error(), h.start) {
			t.Errorf("it starts with %v, want %s", err, h.start)
		}
	} else if err != nil {
		t.Errorf("it does not start: %v", err)
		return
	}
	if err == nil {
		h.call(t, i)
		h.leave(t, i)
	}
	h.again(t, c, s)
}

func (h hostile) call(t *testing.T, i *Instance) {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	p := i.Main().Call(ctx, "go", make([]byte, h.args), capnweb.NewStub(capnweb.Func(
		func(context.Context, []any) (any, error) { return true, nil })))
	defer p.Dispose()
	if h.cut {
		select {
		case <-p.Done():
			t.Error("go came back")
		case <-time.After(200 * time.Millisecond):
		}
		if !h.deaf {
			h.next(t, i)
		}
		return
	}
	v, err := p.Await(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		t.Error("go hangs")
	case h.err == "" && err != nil, h.err != "" && (err == nil || !strings.Contains(err.Error(), h.err)):
		t.Errorf("go gives %.100v, %.400v; want the error %q", v, err, h.err)
	}
	if h.end == "" {
		h.next(t, i)
		return
	}
	select {
	case <-i.Done():
		if kind(i.Err()) != h.end {
			t.Errorf("it ended with %v, want the kind %s", i.Err(), h.end)
		}
	case <-time.After(30 * time.Second):
		t.Errorf("it goes on; want an end of the kind %s", h.end)
	}
}

// next is the call after the attack, of a gadget that goes on.
func (h hostile) next(t *testing.T, i *Instance) {
	if i.Err() != nil {
		t.Errorf("it ended with %v", i.Err())
		return
	}
	p := i.Main().Call(t.Context(), "ping")
	defer p.Dispose()
	if v, err := await(t, p); err != nil || v != 1.0 {
		t.Errorf("afterwards ping gives %v, %v", v, err)
	}
}

// leave closes the instance and looks for what it has left in its session.
func (h hostile) leave(t *testing.T, i *Instance) {
	settled := func(want capnweb.Stats) bool {
		s := i.session.Stats()
		s.Sent, s.Received = 0, 0
		return s == want
	}
	if i.Err() == nil && !h.cut {
		if !inTime(func() bool { return settled(capnweb.Stats{Exports: 1, Imports: 1}) || i.Err() != nil }) {
			t.Errorf("alive it holds %+v", i.session.Stats())
		}
	}
	i.Close()
	<-i.session.Done()
	if !inTime(func() bool { return settled(capnweb.Stats{}) }) {
		t.Errorf("ended it holds %+v", i.session.Stats())
	}
}

// again starts the gadget anew, on what it has stored.
func (h hostile) again(t *testing.T, c *Child, s Spec) {
	s.Env = sink()
	i, err := c.Start(t.Context(), s)
	if h.start != "" {
		if err == nil || !strings.Contains(err.Error(), h.start) {
			t.Errorf("the second start gives %v, want %s", err, h.start)
		}
		return
	}
	if err != nil {
		t.Errorf("it does not start again: %v", err)
		return
	}
	defer i.Close()
	h.next(t, i)
}

// inTime tries for a while; what a value held is given back when its memory is collected.
func inTime(f func() bool) bool {
	for k := range 300 {
		if f() {
			return true
		}
		if k%10 == 9 {
			runtime.GC()
		}
		time.Sleep(time.Millisecond * time.Duration(min(k, 20)))
	}
	return false
}

func quotaStore(t *testing.T, quota int64) Storage {
	store, err := storage.Open(t.TempDir()+"/x.db", &storage.Options{Quota: quota})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// attackAll runs cases in a child of their own. When all are gone the child has about the memory that it had before.
func attackAll(t *testing.T, cases []hostile) {
	c := startChild(t, realConfig())
	n := newNeighbour(t, c)
	hostile{}.attack(t, c) // what a first gadget leaves, such as the image of its code
	before := settledMemory(t, c)
	for _, h := range cases {
		t.Run(h.name, func(t *testing.T) {
			n.t = t
			from := time.Now()
			pings := n.during(func() { h.attack(t, c) })
			t.Logf("%v, %d pings", time.Since(from).Round(time.Millisecond), pings)
			if c.Err() != nil {
				t.Fatalf("the child ended: %v", c.Err())
			}
		})
	}
	n.t = t
	n.ping()
	// One instance that stayed would keep what its limit is, 16 MiB.
	var after int64
	for range 5 {
		if after = settledMemory(t, c); after < before+12<<20 {
			break
		}
	}
	if t.Logf("%d KiB before, %d KiB after %d attacks", before>>10, after>>10, len(cases)); after >= before+12<<20 {
		t.Errorf("the child had %d KiB, and has %d KiB after %d attacks", before>>10, after>>10, len(cases))
	}
}

// settledMemory is the private memory of a child whose instances have all come to rest.
func settledMemory(t *testing.T, c *Child) int64 {
	time.Sleep(sandbox.Settle)
	m, err := privateMemory(c.PID())
	if err != nil {
		t.Log(fmt.Sprint("its memory is not compared: ", err))
	}
	return m
}
