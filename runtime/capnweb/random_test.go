package capnweb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// program is a random sequence of calls, pipelined calls, callbacks and disposals. It is the
// same for the same seed, wherever it runs.
type program struct {
	r        *rand.Rand
	ctx      context.Context
	main     *Stub
	counters []*Promise // of counters
	numbers  []*Promise // of numbers, or failed
	out      []string
}

// run executes the program of a seed on main and tells what it saw.
func runProgram(ctx context.Context, main *Stub, seed uint64) string {
	p := &program{r: rand.New(rand.NewPCG(seed, 1)), ctx: ctx, main: main}
	for range 5 + p.r.IntN(40) {
		p.step()
	}
	for i, n := range p.numbers {
		p.see(fmt.Sprintf("n%d", i), n)
		n.Dispose()
	}
	for i, c := range p.counters {
		v := c.GetPath(ctx, []any{"value"})
		p.see(fmt.Sprintf("c%d", i), v)
		v.Dispose()
		c.Dispose()
	}
	return strings.Join(p.out, "\n")
}

func (p *program) see(what string, pr *Promise) {
	v, err := pr.Await(p.ctx)
	if err != nil {
		p.out = append(p.out, what+" threw "+err.Error())
		return
	}
	p.out = append(p.out, what+" = "+show(v))
}

// number is a constant or a promise of an earlier result.
func (p *program) number() any {
	if len(p.numbers) > 0 && p.r.IntN(2) == 0 {
		return p.numbers[p.r.IntN(len(p.numbers))]
	}
	return p.r.IntN(10)
}

func (p *program) counter() *Promise {
	if len(p.counters) == 0 {
		p.counters = append(p.counters, p.main.Call(p.ctx, "makeCounter", p.r.IntN(10)))
	}
	return p.counters[p.r.IntN(len(p.counters))]
}

func (p *program) keep(n *Promise) { p.numbers = append(p.numbers, n) }

func (p *program) step() {
	switch p.r.IntN(9) {
	case 0:
		p.counters = append(p.counters, p.main.Call(p.ctx, "makeCounter", p.r.IntN(10)))
	case 1:
		p.keep(p.counter().Call(p.ctx, "inc", p.r.IntN(5)))
	case 2:
		p.keep(p.main.Call(p.ctx, "square", p.number()))
	case 3:
		p.keep(p.main.Call(p.ctx, "incrementCounter", p.counter(), p.r.IntN(5)))
		last := p.numbers[len(p.numbers)-1]
		_, _ = last.Await(p.ctx) // its argument is a promise: only awaited is its place in the order sure
	case 4:
		k := float64(p.r.IntN(7))
		p.keep(p.main.Call(p.ctx, "callFn", Func(func(_ context.Context, a []any) (any, error) { return a[0].(float64) * k, nil })))
	case 5:
		e := p.main.Call(p.ctx, "echo", []any{p.number(), Object{{"x", p.number()}}})
		p.see("echo", e)
		e.Dispose()
	case 6:
		p.keep(p.main.Call(p.ctx, []string{"fail", "nope"}[p.r.IntN(2)]))
	case 7:
		u := p.main.Call(p.ctx, "user")
		p.keep(u.CallPath(p.ctx, []any{"counter", "inc"}, []any{p.r.IntN(5)}))
		u.Dispose()
	case 8:
		p.see("await", p.counter().Call(p.ctx, "inc", 1))
	}
}

// TestRandomPrograms runs TOOLSHED_SEEDS programs (100) on a local object, over a session and
// through a proxy: what they see is the same, and nothing is left behind (checked by the
// fixtures).
func TestRandomPrograms(t *testing.T) {
	seeds, _ := strconv.ParseUint(os.Getenv("TOOLSHED_SEEDS"), 10, 32)
	if seeds == 0 {
		seeds = 100
	}
	t.Logf("%d seeds", seeds)
	c := newProxyChain(t)
	local := &server{}
	stub := NewStub(local.target())
	run := func(main *Stub, seed uint64) string { // a deadline for each: that of the fixture is not meant for thousands
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		return runProgram(ctx, main, seed)
	}
	for seed := range seeds {
		want := run(stub, seed)
		if got := run(c.main, seed); got != want {
			t.Fatalf("seed %d over a session:\n%s\nlocally:\n%s", seed, got, want)
		}
		if got := run(c.far, seed); got != want {
			t.Fatalf("seed %d through a proxy:\n%s\nlocally:\n%s", seed, got, want)
		}
	}
	stub.Dispose()
	if n := local.live.Load(); n != 0 {
		t.Errorf("%d local counters outlived their programs", n)
	}
}

// TestOfficialRandomPrograms runs TOOLSHED_SEEDS programs (100) of testdata/programs.mjs with the
// official client against the official server and against this peer. TOOLSHED_SEED=n repeats one.
func TestOfficialRandomPrograms(t *testing.T) {
	first, last := 1, 100
	if n, err := strconv.Atoi(os.Getenv("TOOLSHED_SEEDS")); err == nil && n > 0 {
		last = n
	}
	if n, err := strconv.Atoi(os.Getenv("TOOLSHED_SEED")); err == nil && n > 0 {
		first, last = n, n
	}
	cmd := nodeFor(t, 30*time.Second+time.Duration(last-first)*50*time.Millisecond,
		"random.mjs", goServer(t), strconv.Itoa(first), strconv.Itoa(last))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, stderr.String(), out)
	}
	programs := 0
	for line := range strings.Lines(string(out)) {
		var v struct {
			Seed, Programs int
			JS, Go, Leak   string
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if programs = v.Programs; programs == 0 {
			t.Errorf("seed %d\n js: %s\n go: %s\n leak: %s", v.Seed, v.JS, v.Go, v.Leak)
		}
	}
	if programs != last-first+1 {
		t.Errorf("%d programs ran, want %d", programs, last-first+1)
	}
	t.Logf("seeds %d to %d: %d programs", first, last, programs)
}
