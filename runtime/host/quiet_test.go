package host

import (
	"context"
	"testing"
	"time"

	"toolshed/runtime/capnweb"
)

const quietCode = `import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject {
	ping() { return 1 }
	timer() { this.t = setTimeout(() => {}, 1e7) }
	stop() { clearTimeout(this.t) }
	hang() { return new Promise((r) => { this.go = r }) }
	release() { this.go(1) }
	keep(f) { this.f = f.dup() }
	drop() { this.f[Symbol.dispose]() }
	lend() { return () => 1 }
	async put() { await this.ctx.storage.put("k", "v") }
}`

func quiet(t *testing.T, i *Instance) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return i.Quiet(ctx)
}

// An instance is quiet when nothing would be missed, and not quiet for each single reason.
func TestQuiet(t *testing.T) {
	i := startReal(t, startChild(t, realConfig()), spec(quietCode))
	becomes := func(what string) {
		t.Helper()
		eventually(t, "it does not become quiet after "+what, func() bool { return quiet(t, i) })
	}
	call := func(method string, args ...any) *capnweb.Promise { return i.Main().Call(t.Context(), method, args...) }
	must := func(p *capnweb.Promise) any {
		t.Helper()
		v, err := await(t, p)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	never := func(what string) {
		t.Helper()
		for range 5 {
			if quiet(t, i) {
				t.Fatalf("it is quiet although there is %s", what)
			}
		}
	}
	becomes("the start")
	must(call("ping"))
	becomes("a call")
	must(call("put"))
	becomes("a write")
	must(call("timer"))
	never("a timer")
	must(call("stop"))
	becomes("the timer")
	hanging := call("hang")
	must(call("ping"))
	never("a call without an answer")
	must(call("release"))
	must(hanging)
	hanging.Dispose()
	becomes("the answer")
	f := capnweb.NewStub(capnweb.Methods{"": func(context.Context, []any) (any, error) { return nil, nil }})
	must(call("keep", f))
	f.Dispose()
	never("a stub that the gadget keeps")
	must(call("drop"))
	becomes("the stub")
	lent := call("lend")
	must(lent)
	never("a stub of the gadget's that somebody keeps")
	lent.Dispose()
	must(lent).(*capnweb.Stub).Dispose()
	becomes("that")
	i.Close()
	if quiet(t, i) {
		t.Fatal("an ended instance is quiet")
	}
}

// When a child dies, the gadgets whose turns were running are told apart from those that had nothing to do.
func TestTheInnocentAreToldApart(t *testing.T) {
	child := startChild(t, realConfig())
	s := spec(`import { DurableObject } from "cloudflare:workers"; export class Gadget extends DurableObject {
		spin() { for (;;); } ping() { return 1 } later() { setTimeout(() => { for (;;); }, 1) } }`)
	s.Limits = Limits{Soft: time.Minute, Hard: time.Minute}
	spins, sleeps, wakes := startReal(t, child, s), startReal(t, child, s), startReal(t, child, s)
	for _, i := range []*Instance{spins, sleeps, wakes} {
		if _, err := await(t, i.Main().Call(t.Context(), "ping")); err != nil {
			t.Fatal(err)
		}
	}
	_ = spins.Main().Call(t.Context(), "spin")
	_, _ = await(t, wakes.Main().Call(t.Context(), "later"))
	told := func(i *Instance, busy bool) func() bool {
		return func() bool {
			i.mu.Lock()
			defer i.mu.Unlock()
			return (i.woken || i.undone > 0) == busy
		}
	}
	eventually(t, "the timer is not heard of", func() bool {
		wakes.mu.Lock()
		defer wakes.mu.Unlock()
		return wakes.woken
	})
	eventually(t, "an idle gadget seems busy", told(sleeps, false))
	eventually(t, "a busy gadget seems idle", told(spins, true))
	child.kill()
	<-child.Done()
	for i, want := range map[*Instance]bool{spins: true, wakes: true, sleeps: false} {
		if f := i.failure(); f == nil || f.Kind != KindChild || f.Suspect != want {
			t.Errorf("%+v, want suspect=%v", f, want)
		}
	}
}
