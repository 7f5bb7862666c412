package capnweb

import (
	"context"
	"errors"
	"io"
	"sync"
)

// serviceState is what the service of testdata/service.mjs remembers besides its counters.
type serviceState struct {
	mu        sync.Mutex
	kept      []*Stub
	forgotten *Stub
	shared    *counter
	canceled  bool
	sink      recorder
}

// recorder is a sink that remembers how it ended.
type recorder struct {
	mu     sync.Mutex
	chunks []any
	end    string
}

func (r *recorder) Write(_ context.Context, chunk any) error {
	if chunk == "bad" {
		return typeError("bad chunk")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chunks = append(r.chunks, chunk)
	return nil
}

func (r *recorder) Close(context.Context) error { r.ended("closed"); return nil }
func (r *recorder) Abort(error)                 { r.ended("aborted") }

func (r *recorder) ended(how string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end = how
}

func (s *server) service(m Methods) {
	s.values(m)
	s.failures(m)
	s.keepers(m)
	s.streams(m)
}

func (s *server) values(m Methods) {
	m["add"] = func(_ context.Context, a []any) (any, error) { return arg[float64](a, 0) + arg[float64](a, 1), nil }
	m["laterCounter"] = func(ctx context.Context, a []any) (any, error) {
		n := arg[float64](a, 0)
		return soon(ctx, func() (any, error) { return s.counter(n), nil }), nil
	}
	m["live"] = func(context.Context, []any) (any, error) { return s.live.Load(), nil }
	m["count"] = func(_ context.Context, a []any) (any, error) { return len(a), nil }
	m["nested"] = func(context.Context, []any) (any, error) {
		return Object{{"a", Object{{"box", Object{{"c", s.counter(5)}}}, {"list", []int{6}}}}, {"n", 1}}, nil
	}
	m["twins"] = func(context.Context, []any) (any, error) {
		c := NewStub(s.counter(0))
		return []any{c, c.Dup()}, nil
	}
	m["shared"] = func(context.Context, []any) (any, error) {
		s.state.mu.Lock()
		defer s.state.mu.Unlock()
		if s.state.shared == nil {
			s.state.shared = &counter{}
		}
		return s.state.shared, nil
	}
	m["returnText"] = func(context.Context, []any) (any, error) { return "text", nil }
	m["returnError"] = func(context.Context, []any) (any, error) { return typeError("a value"), nil }
	m["returnFunction"] = func(_ context.Context, a []any) (any, error) {
		k := arg[float64](a, 0)
		return Func(func(_ context.Context, a []any) (any, error) { return arg[float64](a, 0) + k, nil }), nil
	}
	m["noted"] = func(context.Context, []any) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return append([]float64{}, s.order...), nil
	}
}

func (s *server) failures(m Methods) {
	m["throwIt"] = func(_ context.Context, a []any) (any, error) {
		if e := arg[*Error](a, 0); e != nil {
			return nil, e
		}
		if len(a) == 0 {
			return nil, &Thrown{Undefined{}}
		}
		return nil, &Thrown{a[0]}
	}
	m["failLater"] = func(ctx context.Context, _ []any) (any, error) {
		return soon(ctx, func() (any, error) { return nil, &Error{Name: "RangeError", Message: "later"} }), nil
	}
}

func (s *server) keepers(m Methods) {
	m["callMany"] = func(ctx context.Context, a []any) (any, error) {
		f, n := arg[*Stub](a, 0), int(arg[float64](a, 1))
		out := make([]any, n)
		for i := range n {
			out[i] = f.Call(ctx, "", i)
		}
		return out, nil
	}
	m["valueOf_"] = func(ctx context.Context, a []any) (any, error) {
		c := arg[*Stub](a, 0)
		if c == nil {
			return nil, typeError("not a stub")
		}
		return c.GetPath(ctx, []any{"value"}), nil
	}
	m["keep"] = func(_ context.Context, a []any) (any, error) {
		f := arg[*Stub](a, 0)
		if f == nil {
			return nil, typeError("not a stub")
		}
		s.state.mu.Lock()
		defer s.state.mu.Unlock()
		s.state.kept = append(s.state.kept, f.Dup())
		return len(s.state.kept), nil
	}
	m["callKept"] = func(ctx context.Context, a []any) (any, error) {
		s.state.mu.Lock()
		defer s.state.mu.Unlock()
		out := make([]any, len(s.state.kept))
		for i, f := range s.state.kept {
			out[i] = f.Call(ctx, "", a...)
		}
		return out, nil
	}
	m["dropKept"] = func(context.Context, []any) (any, error) { s.dropKept(); return Undefined{}, nil }
	m["forget"] = func(_ context.Context, a []any) (any, error) {
		s.state.forgotten = arg[*Stub](a, 0)
		return Undefined{}, nil
	}
	m["callForgotten"] = func(ctx context.Context, a []any) (any, error) { return s.state.forgotten.Call(ctx, "", a...), nil }
	m["passBack"] = func(_ context.Context, a []any) (any, error) {
		return Object{{"f", arg[*Stub](a, 0).Dup()}}, nil
	}
}

func (s *server) dropKept() {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	for _, f := range s.state.kept {
		f.Dispose()
	}
	s.state.kept = nil
}

func (s *server) streams(m Methods) {
	m["getEmptyStream"] = func(context.Context, []any) (any, error) { return chunksOf(io.EOF), nil }
	m["getCounterStream"] = func(_ context.Context, a []any) (any, error) {
		i, n := 0.0, arg[float64](a, 0)
		return NewStream(func(context.Context) (any, error) {
			if i >= n {
				return nil, io.EOF
			}
			i++
			return NewStub(s.counter(i - 1)), nil
		}), nil
	}
	m["getBytes"] = func(_ context.Context, a []any) (any, error) {
		i, n, size := 0, int(arg[float64](a, 0)), int(arg[float64](a, 1))
		return NewStream(func(context.Context) (any, error) {
			if i++; i > n {
				return nil, io.EOF
			}
			b := make([]byte, size)
			for at := range b {
				b[at] = byte(i)
			}
			return b, nil
		}), nil
	}
	m["getEndless"] = func(context.Context, []any) (any, error) { return s.endless(), nil }
	m["canceled"] = func(context.Context, []any) (any, error) {
		s.state.mu.Lock()
		defer s.state.mu.Unlock()
		if s.state.canceled {
			return "yes", nil
		}
		return "no", nil
	}
	m["collect"] = func(ctx context.Context, a []any) (any, error) { return readChunks(ctx, arg[*Stream](a, 0), -1), nil }
	m["collectFrom"] = func(ctx context.Context, a []any) (any, error) {
		list, _ := arg[Object](a, 0).Get("list")
		return readChunks(ctx, arg[*Stream](list.([]any), 0), -1), nil
	}
	m["readSome"] = func(ctx context.Context, a []any) (any, error) {
		return readChunks(ctx, arg[*Stream](a, 0), int(arg[float64](a, 1))), nil
	}
	m["getWriter"] = func(context.Context, []any) (any, error) { return NewWriter(&s.state.sink), nil }
	m["written"] = func(context.Context, []any) (any, error) {
		r := &s.state.sink
		r.mu.Lock()
		defer r.mu.Unlock()
		end := r.end
		if end == "" {
			end = "open"
		}
		return []any{end, append([]any{}, r.chunks...)}, nil
	}
	m["fillAndAbort"] = func(ctx context.Context, a []any) (any, error) {
		w := arg[*Writer](a, 0)
		return Async(ctx, func(ctx context.Context) (any, error) {
			if err := w.Write(ctx, 1); err != nil {
				return nil, err
			}
			w.Abort(typeError("given up"))
			return "aborted", nil
		}), nil
	}
}

// endless is a stream whose source hears that it was canceled.
func (s *server) endless() *Stream {
	return NewStream(func(ctx context.Context) (any, error) {
		context.AfterFunc(ctx, func() {
			s.state.mu.Lock()
			defer s.state.mu.Unlock()
			s.state.canceled = true
		})
		return string(make([]byte, 100)), nil
	})
}

// readChunks reads n chunks and cancels the stream, or reads all of it when n is negative.
func readChunks(ctx context.Context, st *Stream, n int) *Promise {
	return Async(ctx, func(ctx context.Context) (any, error) {
		out := []any{}
		for n < 0 || len(out) < n {
			c, err := st.Read(ctx)
			if errors.Is(err, io.EOF) {
				return out, nil
			}
			if err != nil {
				return nil, err
			}
			out = append(out, c)
		}
		st.Cancel(typeError("enough"))
		return out, nil
	})
}
