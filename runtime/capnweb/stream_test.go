package capnweb

import (
	"context"
	"errors"
	"io"
	"reflect"
	"testing"
	"time"
)

// chunksOf is a stream of fixed chunks that ends with end.
func chunksOf(end error, chunks ...any) *Stream {
	return NewStream(func(context.Context) (any, error) {
		if len(chunks) == 0 {
			return nil, end
		}
		c := chunks[0]
		chunks = chunks[1:]
		return c, nil
	})
}

func streamMethods(m Methods) {
	m["echoBlob"] = func(_ context.Context, a []any) (any, error) { return arg[Blob](a, 0), nil }
	m["getStream"] = func(context.Context, []any) (any, error) {
		return chunksOf(io.EOF, "a", []byte{1, 2}), nil
	}
	m["getMixedStream"] = func(context.Context, []any) (any, error) {
		return chunksOf(io.EOF, "a", []byte{1, 2}, Object{{"n", 3}}), nil
	}
	m["getBrokenStream"] = func(context.Context, []any) (any, error) {
		return chunksOf(&Error{Name: "RangeError", Message: "torn"}, "a"), nil
	}
	m["sink"] = func(ctx context.Context, a []any) (any, error) {
		st := arg[*Stream](a, 0)
		if st == nil {
			return nil, typeError("not a stream")
		}
		return Async(ctx, func(ctx context.Context) (any, error) {
			n := 0
			for {
				c, err := st.Read(ctx)
				if errors.Is(err, io.EOF) {
					return n, nil
				}
				if err != nil {
					return nil, err
				}
				switch c := c.(type) {
				case string:
					n += len(c)
				case []byte:
					n += len(c)
				default:
					n++
				}
			}
		}), nil
	}
	m["fill"] = func(ctx context.Context, a []any) (any, error) {
		w, n := arg[*Writer](a, 0), int(arg[float64](a, 1))
		return Async(ctx, func(ctx context.Context) (any, error) {
			for i := range n {
				if err := w.Write(ctx, i); err != nil {
					return nil, err
				}
			}
			return n, w.Close(ctx)
		}), nil
	}
}

func TestStreamResult(t *testing.T) {
	p := newPair(t, nil)
	st := p.await(p.main.Call(p.ctx, "getMixedStream")).(*Stream)
	var got []any
	for {
		c, err := st.Read(p.ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c)
	}
	if want := []any{"a", []byte{1, 2}, Object{{"n", 3.0}}}; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v", got)
	}
	st = p.await(p.main.Call(p.ctx, "getBrokenStream")).(*Stream)
	for {
		_, err := st.Read(p.ctx)
		if err == nil {
			continue
		}
		if err.Error() != "RangeError: torn" {
			t.Fatalf("ended with %v", err)
		}
		break
	}
}

func TestStreamArgument(t *testing.T) {
	p := newPair(t, nil)
	if v := p.await(p.main.Call(p.ctx, "sink", chunksOf(io.EOF, "qq", []byte("r")))); v != 3.0 {
		t.Fatalf("got %v", v)
	}
	p.awaitError(p.main.Call(p.ctx, "sink", chunksOf(errors.New("torn"), "q")), "torn")
	if v := p.await(p.main.Call(p.ctx, "square", 3)); v != 9.0 {
		t.Fatal(v)
	}
}

func TestBlob(t *testing.T) {
	p := newPair(t, nil)
	in := Blob{Type: "text/plain", Bytes: make([]byte, 300<<10)}
	if v := p.await(p.main.Call(p.ctx, "echoBlob", in)); !reflect.DeepEqual(v, in) {
		t.Fatal("the blob came back different")
	}
}

func TestWriter(t *testing.T) {
	p := newPair(t, nil)
	w := p.await(p.main.Call(p.ctx, "getWriter")).(*Writer)
	if err := errors.Join(w.Write(p.ctx, "z"), w.Close(p.ctx)); err != nil {
		t.Fatal(err)
	}
	w = p.await(p.main.Call(p.ctx, "getWriter")).(*Writer)
	_ = w.Write(p.ctx, "bad")
	if err := w.Close(p.ctx); err == nil || err.Error() != "TypeError: bad chunk" {
		t.Fatalf("close gave %v", err)
	}
	w = p.await(p.main.Call(p.ctx, "getWriter")).(*Writer)
	w.Abort(errors.New("never mind"))
	got := &collector{}
	if v := p.await(p.main.Call(p.ctx, "fill", NewWriter(got), 100)); v != 100.0 {
		t.Fatalf("got %v", v)
	}
	if len(got.chunks) != 100 || got.chunks[99] != 99.0 || !got.closed {
		t.Fatalf("the sink got %v", got)
	}
}

type collector struct {
	chunks []any
	closed bool
}

func (c *collector) Write(_ context.Context, chunk any) error {
	c.chunks = append(c.chunks, chunk)
	return nil
}
func (c *collector) Close(context.Context) error { c.closed = true; return nil }
func (c *collector) Abort(error)                 {}

// A reader that does not read holds the writer back: what is in flight stays bounded.
func TestStreamBackPressure(t *testing.T) {
	p := newPair(t, nil)
	made := make(chan int, 10_000)
	source := NewStream(func(context.Context) (any, error) {
		made <- 1
		return make([]byte, 16<<10), nil
	})
	p.await(p.main.Call(p.ctx, "ignoreStream", source))
	before := -1
	for len(made) != before {
		before = len(made)
		time.Sleep(20 * time.Millisecond)
	}
	if limit := (streamWindow+streamRoom)/(16<<10) + 4; before > limit {
		t.Errorf("%d chunks were made for a reader that does not read, want at most %d", before, limit)
	}
	p.server.mu.Lock()
	p.server.ignored.Cancel(errors.New("enough"))
	p.server.mu.Unlock()
}
