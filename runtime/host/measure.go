package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"toolshed/runtime/host/sandbox"
	"toolshed/runtime/storage"
)

// Figure is one measured number.
type Figure struct {
	Name  string  // such as pipe.call.p50
	Value float64 // in Unit
	Unit  string  // µs, ms or KiB
	Runs  int     // how many observations it is made of
}

// counts are numbers of observations.
type counts struct{ calls, starts, instances, spawns, attacks int } // attacks: of each

var (
	fullCounts = counts{calls: 3000, starts: 60, instances: 24, spawns: 8, attacks: 8}
	fewCounts  = counts{calls: 20, starts: 2, instances: 2, spawns: 1, attacks: 1}
)

const (
	attackDeadline = 100 * time.Millisecond
	timerEvery     = time.Millisecond
)

const measuredCode = `export class Gadget {
	constructor() { this.n = 0 }
	ping() { return ++this.n }
	work(n) { let x = 0; for (let i = 0; i < n; i++) x = (x * 31 + i) % 65521; return x }
}`

// Measure takes the figures by which the sandbox is judged, on this machine, through child processes made by config:
//
//	pipe.call.p50, .p99     one call kernel -> guest -> kernel, no storage
//	ready.fresh             start of an instance that initialises the engine anew
//	ready.copied            from a copied image of engine and prelude, its code evaluated
//	ready.mapped            from a mapped image of engine and prelude, its code evaluated
//	snapshot.ready          from the mapped image of its code, which ran before
//	idle.private            private memory of an instance that was only started
//	busy.private            the same after 20 calls
//	attack.late.p99, .max   how long after its deadline an attack ends by fuel alone
//	attack.ping.p99, .max   how long a call of another instance took meanwhile
//	attack.timer.p99, .max  control: how late a bare timer of this process fired meanwhile
//	compute                 ten million steps of a simple loop
//	spawn.first_call        from no process to the first answer
//
// It takes about half a minute; CacheDir should be set, or each child compiles the engine. With few, it observes so little
// that it takes some seconds and the values mean nothing.
func Measure(ctx context.Context, config Config, few bool) ([]Figure, error) {
	n := fullCounts
	if few {
		n = fewCounts
	}
	var out []Figure
	for _, f := range []func(context.Context, Config, counts) ([]Figure, error){
		measureCalls, measureStarts, measureMemory, measureSpawn, measureAttacks,
	} {
		figures, err := f(ctx, config, n)
		if err != nil {
			return out, fmt.Errorf("host: measure: %w", err)
		}
		out = append(out, figures...)
	}
	return out, nil
}

// withChild runs f with a child of its own.
func withChild(ctx context.Context, config Config, f func(*Child) error) error {
	c, err := StartChild(ctx, config)
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}

func measured(ctx context.Context, c *Child, code string, l Limits) (*Instance, error) {
	return c.Start(ctx, Spec{ID: "measure", Files: map[string][]byte{"server.js": []byte(code)},
		Storage: storage.OpenMemory(), Limits: l})
}

// timed returns how long a call took.
func timed(ctx context.Context, i *Instance, method string, args ...any) (time.Duration, error) {
	from := time.Now()
	p := i.Main().Call(ctx, method, args...)
	_, err := p.Await(ctx)
	p.Dispose()
	return time.Since(from), err
}

// rank returns the value below which the share q of the durations lies, in units of unit.
func rank(d []time.Duration, q float64, unit time.Duration) float64 {
	slices.Sort(d)
	return float64(d[min(len(d)-1, int(q*float64(len(d))))]) / float64(unit)
}

func measureCalls(ctx context.Context, config Config, n counts) (out []Figure, err error) {
	err = withChild(ctx, config, func(c *Child) error {
		i, err := measured(ctx, c, measuredCode, Limits{Soft: time.Minute, Hard: 2 * time.Minute})
		if err != nil {
			return err
		}
		var d []time.Duration
		for k := range n.calls + 200 {
			t, err := timed(ctx, i, "ping")
			if err != nil {
				return err
			}
			if k >= 200 {
				d = append(d, t)
			}
		}
		out = append(out, Figure{"pipe.call.p50", rank(d, 0.5, time.Microsecond), "µs", len(d)},
			Figure{"pipe.call.p99", rank(d, 0.99, time.Microsecond), "µs", len(d)})
		d = nil
		for range 5 {
			t, err := timed(ctx, i, "work", 10_000_000)
			if err != nil {
				return err
			}
			d = append(d, t)
		}
		out = append(out, Figure{"compute", rank(d, 0.5, time.Millisecond), "ms", len(d)})
		return nil
	})
	return out, err
}

func measureStarts(ctx context.Context, config Config, n counts) (out []Figure, err error) {
	for _, how := range []struct {
		name               string
		fresh, copied, ran bool
	}{{"ready.fresh", true, false, false}, {"ready.copied", false, true, false}, {"ready.mapped", false, false, false}, {"snapshot.ready", false, false, true}} {
		config.NoImage, config.CopyImage = how.fresh, how.copied
		err = withChild(ctx, config, func(c *Child) error {
			var d []time.Duration
			for k := range n.starts + 1 {
				code := measuredCode
				if !how.ran { // a child keeps the image of code that it has evaluated
					code = fmt.Sprintf("%s // %d", measuredCode, k)
				}
				from := time.Now()
				i, err := measured(ctx, c, code, Limits{})
				if err != nil {
					return err
				}
				if k > 0 {
					d = append(d, time.Since(from))
				}
				i.Close()
			}
			out = append(out, Figure{how.name, rank(d, 0.5, time.Microsecond), "µs", len(d)})
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func measureMemory(ctx context.Context, config Config, n counts) (out []Figure, err error) {
	err = withChild(ctx, config, func(c *Child) error {
		// One instance first: what the process needs for its first one is not the cost of each.
		instances := make([]*Instance, 0, n.instances+1)
		start := func() error {
			i, err := measured(ctx, c, measuredCode, Limits{})
			instances = append(instances, i)
			return err
		}
		if err := start(); err != nil {
			return err
		}
		sleep(ctx, sandbox.Settle)
		empty, err := privateMemory(c.PID())
		if err != nil {
			return nil //nolint:nilerr // this system does not tell: no figure
		}
		figure := func(name string) error {
			sleep(ctx, sandbox.Settle)
			now, err := privateMemory(c.PID())
			if err != nil {
				return err
			}
			out = append(out, Figure{name, float64(now-empty) / float64(n.instances) / 1024, "KiB", n.instances})
			return ctx.Err()
		}
		for range n.instances {
			if err := start(); err != nil {
				return err
			}
		}
		if err := figure("idle.private"); err != nil {
			return err
		}
		for _, i := range instances[1:] {
			for range 20 {
				if _, err := timed(ctx, i, "ping"); err != nil {
					return err
				}
			}
		}
		return figure("busy.private")
	})
	return out, err
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// privateMemory returns the bytes that a process shares with nobody. Where the detailed table is closed to us (a child
// is not dumpable) the anonymous memory stands for it.
func privateMemory(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	names := []string{"Private_Clean:", "Private_Dirty:"}
	if err != nil || len(b) == 0 {
		names = []string{"RssAnon:"}
		if b, err = os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err != nil {
			return 0, err
		}
	}
	var sum int64
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		if len(f) > 1 && slices.Contains(names, string(f[0])) {
			n, err := strconv.ParseInt(string(f[1]), 10, 64)
			if err != nil {
				return 0, err
			}
			sum += n << 10
		}
	}
	if sum == 0 {
		return 0, errors.New("the system does not tell")
	}
	return sum, nil
}

func measureSpawn(ctx context.Context, config Config, n counts) ([]Figure, error) {
	var d []time.Duration
	for range n.spawns {
		from := time.Now()
		err := withChild(ctx, config, func(c *Child) error {
			i, err := measured(ctx, c, measuredCode, Limits{})
			if err != nil {
				return err
			}
			_, err = timed(ctx, i, "ping")
			d = append(d, time.Since(from))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return []Figure{{"spawn.first_call", rank(d, 0.5, time.Millisecond), "ms", len(d)}}, nil
}

func measureAttacks(ctx context.Context, config Config, n counts) (out []Figure, err error) {
	config.noInterrupt = true
	err = withChild(ctx, config, func(c *Child) error {
		other, err := measured(ctx, c, measuredCode, Limits{Hard: time.Minute})
		if err != nil {
			return err
		}
		var late, ping, timer []time.Duration
		for k := range len(attacks) * n.attacks {
			stop := timerLateness(&timer)
			l, p, err := attack(ctx, c, other, k%len(attacks))
			stop()
			if err != nil {
				return err
			}
			late, ping = append(late, l...), append(ping, p...)
		}
		for _, f := range []struct {
			name string
			d    []time.Duration
		}{{"attack.late", late}, {"attack.ping", ping}, {"attack.timer", timer}} {
			if len(f.d) == 0 {
				return fmt.Errorf("%s: nothing was observed", f.name)
			}
			out = append(out, Figure{f.name + ".p99", rank(f.d, 0.99, time.Millisecond), "ms", len(f.d)},
				Figure{f.name + ".max", rank(f.d, 1, time.Millisecond), "ms", len(f.d)})
		}
		return nil
	})
	return out, err
}

// timerLateness adds to late how late a bare timer of this process fires, again and again until stop is called.
func timerLateness(late *[]time.Duration) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			from := time.Now()
			t := time.NewTimer(timerEvery)
			select {
			case <-t.C:
				*late = append(*late, time.Since(from)-timerEvery)
			case <-end:
				t.Stop()
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}

// attack lets one instance run an attack while another is called, and returns how late the attack ended (nothing if
// it ended by itself) and how long the calls took.
func attack(ctx context.Context, c *Child, other *Instance, k int) (late, stall []time.Duration, err error) {
	i, err := measured(ctx, c, attackCode(), Limits{Soft: attackDeadline, Hard: attackDeadline})
	if err != nil {
		return nil, nil, err
	}
	defer i.Close()
	p := i.Main().Call(ctx, fmt.Sprint("a", k))
	from := time.Now()
	ended := make(chan time.Duration, 1)
	go func() {
		select {
		case <-i.Done():
		case <-p.Done():
		}
		ended <- time.Since(from)
	}()
	for {
		select {
		case d := <-ended:
			if f := i.failure(); f != nil && f.Kind == KindCPU {
				late = append(late, d-attackDeadline)
			}
			return late, stall, nil
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		default:
		}
		d, err := timed(ctx, other, "ping")
		if err != nil {
			return nil, nil, err
		}
		stall = append(stall, d)
	}
}

// Memory returns the bytes that the child shares with nobody, or an error where the system does not tell.
func (c *Child) Memory() (int64, error) { return privateMemory(c.PID()) }
