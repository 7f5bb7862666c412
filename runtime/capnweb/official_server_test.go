package capnweb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"
)

// clientScenarios are run by this client against the official server and against the Go
// server; the outcomes must be the same.
var clientScenarios = map[string]func(ctx context.Context, m *Stub) (any, error){
	"call": func(ctx context.Context, m *Stub) (any, error) { return m.Call(ctx, "square", 5).Await(ctx) },
	"pipeline": func(ctx context.Context, m *Stub) (any, error) {
		c := m.Call(ctx, "makeCounter", 4)
		defer c.Dispose()
		return c.Call(ctx, "inc", 2).Await(ctx)
	},
	"returned stub": func(ctx context.Context, m *Stub) (any, error) {
		v, err := m.Call(ctx, "makeCounter", 4).Await(ctx)
		if err != nil {
			return nil, err
		}
		c := v.(*Stub)
		defer c.Dispose()
		a, err := c.Call(ctx, "inc").Await(ctx)
		if err != nil {
			return nil, err
		}
		b, err := c.GetPath(ctx, []any{"value"}).Await(ctx)
		return []any{a, b}, err
	},
	"stub handed back": func(ctx context.Context, m *Stub) (any, error) {
		v, err := m.Call(ctx, "makeCounter", 1).Await(ctx)
		if err != nil {
			return nil, err
		}
		defer DisposeValue(v)
		return m.Call(ctx, "incrementCounter", v, 4).Await(ctx)
	},
	"promise handed back": func(ctx context.Context, m *Stub) (any, error) {
		c := m.Call(ctx, "makeCounter", 2)
		defer c.Dispose()
		return m.Call(ctx, "incrementCounter", c, 4).Await(ctx)
	},
	"own object": func(ctx context.Context, m *Stub) (any, error) {
		return m.Call(ctx, "incrementCounter", (&server{}).counter(4), 9).Await(ctx)
	},
	"callback": func(ctx context.Context, m *Stub) (any, error) {
		return m.Call(ctx, "callFn", Func(func(_ context.Context, a []any) (any, error) { return a[0].(float64) + 1, nil })).Await(ctx)
	},
	"slow callback": func(ctx context.Context, m *Stub) (any, error) {
		return m.Call(ctx, "callFunction", Func(func(ctx context.Context, a []any) (any, error) {
			return Async(ctx, func(context.Context) (any, error) {
				time.Sleep(3 * time.Millisecond)
				return a[0].(float64) * 2, nil
			}), nil
		}), 21).Await(ctx)
	},
	"callback fails": func(ctx context.Context, m *Stub) (any, error) {
		return m.Call(ctx, "callFn", Func(func(context.Context, []any) (any, error) { return nil, typeError("cb") })).Await(ctx)
	},
	"own promise": func(ctx context.Context, m *Stub) (any, error) {
		p, resolve, _ := NewPromise()
		defer p.Dispose()
		r := m.Call(ctx, "square", p)
		resolve(11)
		return r.Await(ctx)
	},
	"own failed promise": func(ctx context.Context, m *Stub) (any, error) {
		return m.Call(ctx, "square", Rejected(errors.New("no"))).Await(ctx)
	},
	"main as argument": func(ctx context.Context, m *Stub) (any, error) {
		return m.Call(ctx, "callSquare", m, 6).Await(ctx)
	},
	"promises in arguments": func(ctx context.Context, m *Stub) (any, error) {
		a, b := m.Call(ctx, "square", 2), m.Call(ctx, "slow", 3)
		defer a.Dispose()
		defer b.Dispose()
		return m.Call(ctx, "echo", []any{a, Object{{"x", b}}}).Await(ctx)
	},
	"property path": func(ctx context.Context, m *Stub) (any, error) {
		return m.CallPath(ctx, []any{"held", "inc"}, []any{1}).Await(ctx)
	},
	"error":       func(ctx context.Context, m *Stub) (any, error) { return m.Call(ctx, "fail").Await(ctx) },
	"missing":     func(ctx context.Context, m *Stub) (any, error) { return m.Call(ctx, "nope").Await(ctx) },
	"undefined":   func(ctx context.Context, m *Stub) (any, error) { return m.Call(ctx, "returnUndefined").Await(ctx) },
	"null":        func(ctx context.Context, m *Stub) (any, error) { return m.Call(ctx, "returnNull").Await(ctx) },
	"echo a stub": func(ctx context.Context, m *Stub) (any, error) { return m.Call(ctx, "echo", m).Await(ctx) },
	"values": func(ctx context.Context, m *Stub) (any, error) {
		return m.Call(ctx, "echo", []any{nil, Undefined{}, 1.5, math.Inf(1), math.NaN(), big.NewInt(-10), Date(5), "é😀\u2028",
			[]byte{1}, TypedArray{"Int16Array", []byte{1, 0}}, URL("https://a.b/c"), Headers{{"a", "b"}},
			&Error{Name: "TypeError", Message: "v", Props: Object{{"code", 1}}}, []any{[]any{}}, Object{{"z", 1}, {"a", 2}}}).Await(ctx)
	},
	"order": func(ctx context.Context, m *Stub) (any, error) {
		c := m.Call(ctx, "makeCounter", 0)
		defer c.Dispose()
		var all []*Promise
		for range 30 {
			all = append(all, c.Call(ctx, "inc"))
		}
		var out []any
		for _, p := range all {
			v, err := p.Await(ctx)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	},
	"stream argument": func(ctx context.Context, m *Stub) (any, error) {
		n := 0
		return m.Call(ctx, "sink", NewStream(func(context.Context) (any, error) {
			if n++; n > 64 {
				return nil, io.EOF
			}
			return make([]byte, 16<<10), nil
		})).Await(ctx)
	},
	"stream argument breaks": func(ctx context.Context, m *Stub) (any, error) {
		return m.Call(ctx, "sink", chunksOf(typeError("torn"), "q")).Await(ctx)
	},
	"stream result": func(ctx context.Context, m *Stub) (any, error) {
		v, err := m.Call(ctx, "getMixedStream").Await(ctx)
		if err != nil {
			return nil, err
		}
		var out []any
		for {
			c, err := v.(*Stream).Read(ctx)
			if errors.Is(err, io.EOF) {
				return out, nil
			}
			if err != nil {
				return nil, err
			}
			out = append(out, c)
		}
	},
	"blob": func(ctx context.Context, m *Stub) (any, error) {
		v, err := m.Call(ctx, "echoBlob", Blob{"text/plain", make([]byte, 300_000)}).Await(ctx)
		b, _ := v.(Blob)
		return []any{b.Type, len(b.Bytes)}, err
	},
	"writer result": func(ctx context.Context, m *Stub) (any, error) {
		v, err := m.Call(ctx, "getWriter").Await(ctx)
		if err != nil {
			return nil, err
		}
		w := v.(*Writer)
		return nil, errors.Join(w.Write(ctx, "z"), w.Close(ctx))
	},
	"writer argument": func(ctx context.Context, m *Stub) (any, error) {
		got := &collector{}
		v, err := m.Call(ctx, "fill", NewWriter(got), 5).Await(ctx)
		return []any{v, got.chunks, got.closed}, err
	},
}

func outcome(t *testing.T, url string, f func(context.Context, *Stub) (any, error)) string {
	t.Helper()
	s := dial(t, url)
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	m := s.Main()
	v, err := f(ctx, m)
	m.Dispose()
	if !eventually(func() bool { return atStart(s) }) {
		t.Errorf("with %.20s the client still holds %+v", url, s.Stats())
	}
	if s.Err() != nil {
		t.Errorf("with %.20s the session ended: %v", url, s.Err())
	}
	if err != nil {
		return fmt.Sprintf("threw %#v", err)
	}
	return show(v)
}

func show(v any) string {
	switch v := v.(type) {
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = show(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case Object:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = v[i].Key + ": " + show(v[i].Value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case *Error:
		return fmt.Sprintf("error %s %s %s", v.Name, v.Message, show(v.Props))
	case *big.Int:
		return v.String() + "n"
	}
	return fmt.Sprintf("%T(%v)", v, v)
}

// notLocal are the scenarios that tell an object of this process from one behind a session.
var notLocal = map[string]string{
	"values: errors":        "the name Error is filled in on the wire",
	"values: reserved keys": "what a peer may not name is dropped on the wire",
	"stream result":         "numbers become float64 on the wire",
	"echo a stub":           "a stub of its own process is simply given back",
	"own failed promise":    "a Go error of any type stays itself",
}

// localOutcome runs a scenario on an object of this process.
func localOutcome(t *testing.T, f func(context.Context, *Stub) (any, error)) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	srv := &server{}
	m := NewStub(srv.target())
	v, err := f(ctx, m)
	m.Dispose()
	if !eventually(func() bool { return srv.live.Load() == 0 }) {
		t.Errorf("%d counters outlived the scenario", srv.live.Load())
	}
	if err != nil {
		return fmt.Sprintf("threw %#v", err)
	}
	return show(v)
}

// TestOfficialServer compares what this client sees of the official server, of the Go server
// and of an object in its own process, and that it keeps nothing.
func TestOfficialServer(t *testing.T) {
	official, own := officialServer(t), goServer(t)
	if len(clientScenarios) < 100 {
		t.Errorf("only %d scenarios", len(clientScenarios))
	}
	t.Logf("%d scenarios", len(clientScenarios))
	for name, f := range clientScenarios {
		t.Run(name, func(t *testing.T) {
			js := outcome(t, official+"/"+strings.ReplaceAll(name, " ", "-"), f)
			ours := outcome(t, own+"/"+strings.ReplaceAll(name, " ", "-"), f)
			if js != ours {
				t.Errorf("different\n js: %s\n go: %s", js, ours)
			}
			if local := localOutcome(t, f); (local != js) != (notLocal[name] != "") {
				t.Errorf("js: %s\n local: %s\n a declared difference: %q", js, local, notLocal[name])
			}
		})
	}
}

// Many goroutines use one session at once, with everything mixed.
func TestConcurrentUse(t *testing.T) {
	p := newPair(t, nil)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				c := p.main.Call(p.ctx, "makeCounter", g)
				r := c.Call(p.ctx, "inc", i)
				sum := p.main.Call(p.ctx, "square", r)
				f := NewStub(Func(func(_ context.Context, a []any) (any, error) { return a[0], nil }))
				cb := p.main.Call(p.ctx, "callFunction", f, i)
				f.Dispose()
				if v, err := sum.Await(p.ctx); err != nil || v != float64((g+i)*(g+i)) {
					t.Errorf("got %v %v", v, err)
				}
				if _, err := cb.Await(p.ctx); err != nil {
					t.Error(err)
				}
				r.Dispose()
				c.Dispose()
			}
		})
	}
	wg.Wait()
}
