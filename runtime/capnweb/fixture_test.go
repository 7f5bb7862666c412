package capnweb

import (
	"context"
	"errors"
	"math/big"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// counter is an object with state; live counts the ones not disposed.
type counter struct {
	mu   sync.Mutex
	n    float64
	live *atomic.Int64
}

func (c *counter) Call(ctx context.Context, method string, args []any) (any, error) {
	switch method {
	case "inc", "increment":
		k := 1.0
		if len(args) > 0 {
			k, _ = args[0].(float64)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.n += k
		return c.n, nil
	case "twin":
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.live != nil {
			c.live.Add(1)
		}
		return &counter{n: c.n, live: c.live}, nil
	case "fail":
		c.mu.Lock()
		defer c.mu.Unlock()
		return nil, &Error{Name: "RangeError", Message: "r" + partText(int(c.n))}
	case "slow":
		return soon(ctx, func() (any, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.n, nil
		}), nil
	}
	return nil, NoMethod(method)
}

// soon is the promise of what f returns a little later.
func soon(ctx context.Context, f func() (any, error)) *Promise {
	return Async(ctx, func(ctx context.Context) (any, error) {
		select {
		case <-time.After(3 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return f()
	})
}

func (c *counter) Property(_ context.Context, name string) (any, error) {
	if name == "value" {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.n, nil
	}
	return Undefined{}, nil
}

func (c *counter) Dispose() {
	if c.live != nil {
		c.live.Add(-1)
	}
}

// server is the object both sides of most tests talk to; its JavaScript twin is in
// testdata/server.mjs.
type server struct {
	live    atomic.Int64 // counters alive
	mu      sync.Mutex
	ignored *Stream
	order   []float64
	state   serviceState
}

func (s *server) counter(n float64) *counter {
	s.live.Add(1)
	return &counter{n: n, live: &s.live}
}

func arg[T any](args []any, i int) T {
	var zero T
	if i >= len(args) {
		return zero
	}
	v, _ := args[i].(T)
	return v
}

func (s *server) target() Target {
	return &Table{Methods: s.methods(), Properties: map[string]func(context.Context) (any, error){
		"held": func(context.Context) (any, error) { return NewStub(s.counter(100)), nil },
		"bad":  func(context.Context) (any, error) { return nil, typeError("bad getter") },
		"facts": func(context.Context) (any, error) {
			return Object{{"deep", Object{{"x", 1}, {"list", []int{1, 2, 3}}}}}, nil
		},
	}}
}

func (s *server) methods() Methods {
	m := Methods{
		"square":      func(_ context.Context, a []any) (any, error) { n := arg[float64](a, 0); return n * n, nil },
		"makeCounter": func(_ context.Context, a []any) (any, error) { return s.counter(arg[float64](a, 0)), nil },
		"echo":        s.echo,
		"list": func(context.Context, []any) (any, error) {
			return []any{Object{{"id", 1}}, Object{{"id", 2}}}, nil
		},
		"name": func(_ context.Context, a []any) (any, error) {
			return "n" + partText(int(arg[float64](a, 0))), nil
		},
		"fail": func(context.Context, []any) (any, error) {
			return nil, &Error{Name: "RangeError", Message: "bad", Props: Object{{"code", 42}}}
		},
		"throwError": func(context.Context, []any) (any, error) {
			return nil, &Error{Name: "RangeError", Message: "test error"}
		},
		"user": func(context.Context, []any) (any, error) {
			return Object{{"name", "bob"}, {"counter", s.counter(3)}}, nil
		},
		"returnNull":      func(context.Context, []any) (any, error) { return nil, nil },
		"returnUndefined": func(context.Context, []any) (any, error) { return Undefined{}, nil },
		"panic":           func(context.Context, []any) (any, error) { panic("secret detail") },
		"plainError":      func(context.Context, []any) (any, error) { return nil, errors.New("plain") },
		"fib":             fib, "generateFibonacci": fib,
		"note": func(_ context.Context, a []any) (any, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.order = append(s.order, arg[float64](a, 0))
			return len(s.order), nil
		},
		"slow": func(ctx context.Context, a []any) (any, error) {
			var v any = Undefined{}
			if len(a) > 0 {
				v = a[0]
			}
			return soon(ctx, func() (any, error) { return v, nil }), nil
		},
	}
	s.callers(m)
	streamMethods(m)
	s.service(m)
	return m
}

func (s *server) echo(_ context.Context, a []any) (any, error) {
	if len(a) == 0 {
		return Undefined{}, nil
	}
	return a[0], nil
}

func fib(_ context.Context, a []any) (any, error) {
	n := int(arg[float64](a, 0))
	out := []any{0.0, 1.0}
	for len(out) < n {
		out = append(out, out[len(out)-1].(float64)+out[len(out)-2].(float64))
	}
	return out[:n], nil
}

// callers are the methods that call what they are handed.
func (s *server) callers(m Methods) {
	m["callFn"] = func(ctx context.Context, a []any) (any, error) {
		f := arg[*Stub](a, 0)
		if f == nil {
			return nil, typeError("f is not a function")
		}
		return f.Call(ctx, "", 7), nil
	}
	m["callFunction"] = func(ctx context.Context, a []any) (any, error) {
		f, i := arg[*Stub](a, 0).Dup(), arg[float64](a, 1)
		return Async(ctx, func(ctx context.Context) (any, error) {
			defer f.Dispose()
			v, err := f.Call(ctx, "", i).Await(ctx)
			if err != nil {
				return nil, err
			}
			return Object{{"result", v}}, nil
		}), nil
	}
	m["callSquare"] = func(ctx context.Context, a []any) (any, error) {
		return Object{{"result", arg[*Stub](a, 0).Call(ctx, "square", a[1])}}, nil
	}
	m["incrementCounter"] = func(ctx context.Context, a []any) (any, error) {
		k := any(1)
		if len(a) > 1 {
			k = a[1]
		}
		return arg[*Stub](a, 0).Call(ctx, "increment", k), nil
	}
	m["ignoreStream"] = func(ctx context.Context, a []any) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ignored = arg[*Stream](a, 0)
		s.ignored.Keep()
		return nil, nil
	}
	m["describe"] = func(_ context.Context, a []any) (any, error) {
		if n := arg[*big.Int](a, 0); n != nil {
			return n.String(), nil
		}
		return nil, typeError("not a bigint")
	}
}

// pair is two sessions joined by a pipe, checked for leaks at the end of the test.
type pair struct {
	t              *testing.T
	server         *server
	client, remote *Session
	main           *Stub
	ctx            context.Context
}

func newPair(t *testing.T, clientMain any) *pair {
	t.Helper()
	a, b := Pipe()
	p := &pair{t: t, server: &server{}}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	p.ctx = ctx
	p.remote = NewSession(b, p.server.target(), nil)
	p.client = NewSession(a, clientMain, nil)
	p.main = p.client.Main()
	t.Cleanup(func() {
		defer cancel()
		p.main.Dispose()
		p.server.dropKept()
		if p.client.Err() == nil && p.remote.Err() == nil {
			p.checkLeaks()
		}
		p.client.Close()
		p.remote.Close()
		<-p.client.Done()
		<-p.remote.Done()
		if !eventually(func() bool { return p.server.live.Load() == 0 }) {
			t.Errorf("%d counters outlived their test", p.server.live.Load())
		}
	})
	return p
}

// checkLeaks fails the test unless both tables of both ends are back at their start.
func (p *pair) checkLeaks() {
	p.t.Helper()
	if !eventually(func() bool { return atStart(p.client) && atStart(p.remote) }) {
		p.t.Errorf("capabilities outlived the test: client %+v, server %+v", p.client.Stats(), p.remote.Stats())
	}
}

func atStart(s *Session) bool {
	st := s.Stats()
	return st.Exports == 1 && st.Imports == 1 && st.Calls == 0 && st.Held == 0
}

func eventually(ok func() bool) bool {
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Microsecond) {
		if ok() {
			return true
		}
	}
	return ok()
}

func (p *pair) await(pr *Promise) any {
	p.t.Helper()
	v, err := pr.Await(p.ctx)
	if err != nil {
		p.t.Fatalf("call failed: %v", err)
	}
	return v
}

func (p *pair) awaitError(pr *Promise, want string) {
	p.t.Helper()
	v, err := pr.Await(p.ctx)
	if err == nil {
		p.t.Fatalf("got %v, want the error %q", v, want)
	}
	if err.Error() != want {
		p.t.Fatalf("error is %q, want %q", err, want)
	}
}
