package sandbox

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"toolshed/runtime/guest"
	"toolshed/runtime/host/sandbox/clock"
)

var measure = flag.Bool("measure", false, "print what the fuel costs")

const noPrelude = `({ boot() {}, start() {}, deliver() {}, wake() {} })`

// unfuelled is the engine as it came, for comparison only: nothing outside tests can compile it.
func unfuelled(t *testing.T) *engine {
	ctx := context.Background()
	wasm, err := guest.Engine()
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{engineOptions: engineOptions{prelude: noPrelude}, runtime: wazero.NewRuntime(ctx)}
	if err := hostModules(ctx, e.runtime); err != nil {
		t.Fatal(err)
	}
	if e.fresh, err = e.runtime.CompileModule(ctx, wasm); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestFuelCost prints what the fuel costs: the time of each workload at several refills against the engine without
// fuel, each the best of several runs that take turns. Memory is the same in all of them.
func TestFuelCost(t *testing.T) {
	if !*measure {
		t.Skip("takes a minute: -measure")
	}
	workloads := []struct{ name, code string }{
		{"loop", `let x = 0; for (let i = 0; i < 2e6; i++) x = (x * 31 + i) % 65521; x`},
		{"objects", `let s = 0; for (let i = 0; i < 2e5; i++) { const o = { a: i, b: [i] }; s += o.b[0] + o.a } s`},
		{"strings", `let s = ""; for (let i = 0; i < 2e5; i++) s += String.fromCharCode(97 + i % 26); s.split("a").join("b").length`},
		{"json", `const o = Array.from({ length: 5000 }, (_, i) => ({ i, s: "text " + i })); for (let i = 0; i < 5; i++) JSON.parse(JSON.stringify(o)); 1`},
		{"sort", `const a = []; for (let i = 0; i < 1e5; i++) a.push(i * 7919 % 100003); a.sort((x, y) => x - y)[5]`},
		{"regex", `"the quick brown fox ".repeat(5000).replace(/[aeiou]+/g, "_").length`},
		{"bytes", `const b = new Uint8Array(1 << 20); for (let i = 0; i < 200; i++) { b.fill(i); b.copyWithin(1, 0) } b[5]`},
		{"bigint", `let x = 1n; for (let i = 1n; i < 2000n; i++) x *= i; String(x).length`},
	}
	refills := []int32{0, 1 << 30, 200_000, 50_000, 20_000, 5_000, 1_000}
	vms := make([]*vm, len(refills))
	for k, refill := range refills {
		e := unfuelled(t)
		if refill != 0 {
			var err error
			if e, err = newEngine(t.Context(), engineOptions{noImage: true, refill: refill, prelude: noPrelude}); err != nil {
				t.Fatal(err)
			}
		}
		v, err := e.initVM(noHost{}, 64<<20)
		if err != nil {
			t.Fatal(err)
		}
		defer v.close()
		vms[k] = v
	}
	for _, w := range workloads {
		best := make([]time.Duration, len(refills))
		for range 9 {
			for k, v := range vms {
				v.turn = clock.Begin(time.Minute, time.Minute)
				from := time.Now()
				x, err := v.eval("{"+w.code+"}", w.name, evalScript)
				d := time.Since(from)
				if err != nil {
					t.Fatal(w.name, err)
				}
				v.free(x)
				if best[k] == 0 || d < best[k] {
					best[k] = d
				}
			}
		}
		for k, refill := range refills[1:] {
			t.Logf("%-8s refill %10d: %+6.1f %% of %v", w.name, refill, 100*(float64(best[k+1])/float64(best[0])-1), best[0])
		}
	}
}
