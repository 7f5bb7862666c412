package host

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"toolshed/runtime/capnweb"
	"toolshed/runtime/storage"
)

// realConfig uses the real prelude, so these tests go through the Cap'n Web session.
func realConfig() Config {
	return Config{Command: self("gadget-host"), Build: testBuild, CacheDir: cacheDir()}
}

const counterCode = `import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject {
	async add(n) {
		const v = ((await this.ctx.storage.get("n")) ?? 0) + n;
		await this.ctx.storage.put("n", v);
		return v;
	}
	echo(x) { return x }
	ping() { return 1 }
	boom() { throw new TypeError("no") }
	async viaEnv(x) { return await this.env.DOUBLE.of(x) }
	loop() { while (true) {} }
}`

func startReal(t testing.TB, c *Child, s Spec) *Instance {
	t.Helper()
	i, err := c.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	return i
}

func await(t testing.TB, p *capnweb.Promise) (any, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return p.Await(ctx)
}

func TestSession(t *testing.T) {
	for _, noImage := range []bool{false, true} {
		t.Run(fmt.Sprint("noImage=", noImage), func(t *testing.T) {
			c := realConfig()
			c.NoImage = noImage
			child := startChild(t, c)
			s := spec(counterCode)
			s.Bindings = []string{"DOUBLE"}
			s.Env = &capnweb.Table{Properties: map[string]func(context.Context) (any, error){
				"DOUBLE": func(context.Context) (any, error) {
					return capnweb.NewStub(capnweb.Methods{"of": func(_ context.Context, a []any) (any, error) {
						return a[0].(float64) * 2, nil
					}}), nil
				}}}
			store := storage.OpenMemory()
			s.Storage = store
			i := startReal(t, child, s)
			main := i.Main()
			for k := 1; k <= 3; k++ {
				if v, err := await(t, main.Call(t.Context(), "add", 2)); err != nil || v != float64(2*k) {
					t.Fatal(v, err)
				}
			}
			if v, err := await(t, main.Call(t.Context(), "echo", "é😀")); err != nil || v != "é😀" {
				t.Fatal(v, err)
			}
			if _, err := await(t, main.Call(t.Context(), "boom")); err == nil || !strings.Contains(err.Error(), "no") {
				t.Fatal(err)
			}
			if v, err := await(t, main.Call(t.Context(), "viaEnv", 21)); err != nil || v != 42.0 {
				t.Fatal(v, err)
			}
			if _, found, err := store.Get("n"); !found || err != nil {
				t.Fatal(found, err)
			}
			// The same gadget again finds what it stored.
			i.Close()
			again := startReal(t, child, s)
			if v, err := await(t, again.Main().Call(t.Context(), "add", 1)); err != nil || v != 7.0 {
				t.Fatal(v, err)
			}
		})
	}
}

// A call that never ends gets an error, and a second gadget of the child answers meanwhile.
func TestSessionOfARunaway(t *testing.T) {
	child := startChild(t, realConfig())
	s := spec(counterCode)
	s.Limits = Limits{Soft: 300 * time.Millisecond}
	runaway := startReal(t, child, s)
	other := startReal(t, child, spec(counterCode))
	p := runaway.Main().Call(t.Context(), "loop")
	answers := 0
	for {
		if v, err := await(t, other.Main().Call(t.Context(), "ping")); err != nil || v != 1.0 {
			t.Fatal(v, err)
		}
		answers++
		select {
		case <-p.Done():
			if _, err := await(t, p); err == nil {
				t.Fatal("an endless loop has a result")
			} else {
				t.Log(err)
			}
			if answers < 5 {
				t.Fatalf("%d answers meanwhile", answers)
			}
			return
		default:
		}
	}
}

// A bad child cannot hold the page up: everything that waits for an instance ends when the child dies.
func TestCallsEndWithTheChild(t *testing.T) {
	child := startChild(t, realConfig())
	s := spec(counterCode)
	s.Limits = Limits{Soft: time.Minute, Hard: time.Minute}
	i := startReal(t, child, s)
	p := i.Main().Call(t.Context(), "loop")
	time.Sleep(20 * time.Millisecond)
	child.Close()
	if _, err := await(t, p); err == nil {
		t.Fatal("no error")
	}
	<-i.Done()
}

// The smallest memory is enough for the prelude and a small gadget.
func TestSmallestMemory(t *testing.T) {
	child := startChild(t, realConfig())
	s := spec(counterCode)
	s.Limits.Memory = 1
	i := startReal(t, child, s)
	if v, err := await(t, i.Main().Call(t.Context(), "add", 5)); err != nil || v != 5.0 {
		t.Fatal(v, err)
	}
}

// Instances that come and go leave nothing behind in the child.
func TestInstancesLeaveNothing(t *testing.T) {
	child := startChild(t, realConfig())
	turn := func(n int) int64 {
		for range n {
			i, err := child.Start(t.Context(), spec(counterCode))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := await(t, i.Main().Call(t.Context(), "ping")); err != nil {
				t.Fatal(err)
			}
			i.Close()
		}
		m, err := privateMemory(child.PID())
		if err != nil {
			t.Skip(err)
		}
		return m
	}
	first := turn(200)
	second := turn(400)
	t.Logf("%d KiB after 200 instances, %d KiB after 600", first>>10, second>>10)
	// Each instance that stayed would keep about 350 KiB.
	if second-first > 400*(350<<10)/4 {
		t.Fatal("instances stay in memory")
	}
	child.mu.Lock()
	defer child.mu.Unlock()
	if len(child.instances) != 0 {
		t.Fatal("instances stay in the kernel's table")
	}
}
