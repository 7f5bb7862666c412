package capnweb

import (
	"context"
	"io"
	"reflect"
	"testing"
	"time"
)

func upTo(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(i)
	}
	return out
}

func TestCallsAreEnteredInOrder(t *testing.T) {
	p := newPair(t, nil)
	const n = 500
	for i := range n {
		p.main.Call(p.ctx, "note", i).Dispose()
	}
	if v := p.await(p.main.Call(p.ctx, "square", 1)); v != 1.0 {
		t.Fatal(v)
	}
	if got := p.server.order; !reflect.DeepEqual(got, upTo(n)) {
		t.Fatalf("order was %v", got)
	}
}

// Calls made on a promise before and after it is resolved arrive in the order made.
func TestOrderThroughAPromise(t *testing.T) {
	s := &server{}
	for round := range 50 {
		s.order = nil
		p, resolve, _ := NewPromise()
		const n = 40
		var last *Promise
		for i := range n {
			if i == n/2 {
				resolve(s.target())
			}
			if i == n*3/4 && round%2 == 0 {
				time.Sleep(20 * time.Microsecond)
			}
			last = p.Call(t.Context(), "note", i)
		}
		if _, err := last.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(s.order, upTo(n)) {
			t.Fatalf("order was %v", s.order)
		}
		p.Dispose()
	}
}

// proxyChain is client -> kernel -> server, the kernel handing on the server's main object.
type proxyChain struct {
	*pair
	front, back *Session // the kernel's session to the client, and the client's
	far         *Stub
}

func newProxyChain(t *testing.T) *proxyChain {
	p := newPair(t, nil)
	a, b := Pipe()
	c := &proxyChain{pair: p, front: NewSession(b, p.main, nil), back: NewSession(a, nil, nil)}
	c.far = c.back.Main()
	t.Cleanup(func() {
		c.far.Dispose()
		if !eventually(func() bool { return atStart(c.front) && atStart(c.back) }) {
			t.Errorf("capabilities outlived the test: front %+v, back %+v", c.front.Stats(), c.back.Stats())
		}
		c.back.Close()
		<-c.back.Done()
		if !eventually(func() bool { return c.front.Err() != nil }) {
			t.Error("the kernel's session did not end")
		}
	})
	return c
}

func TestProxy(t *testing.T) {
	c := newProxyChain(t)
	if v := c.await(c.far.Call(c.ctx, "square", 7)); v != 49.0 {
		t.Fatalf("got %v", v)
	}
	if v := c.await(c.far.CallPath(c.ctx, []any{"held", "inc"}, []any{2})); v != 102.0 {
		t.Fatalf("got %v", v)
	}
	k := c.far.Call(c.ctx, "makeCounter", 1)
	if v := c.await(k.Call(c.ctx, "inc")); v != 2.0 {
		t.Fatalf("got %v", v)
	}
	st := c.await(k).(*Stub)
	if v := c.await(c.far.Call(c.ctx, "incrementCounter", st, 5)); v != 7.0 {
		t.Fatalf("the stub handed back: %v", v)
	}
	st.Dispose()
	f := Func(func(_ context.Context, a []any) (any, error) { return a[0].(float64) * 3, nil })
	if v := c.await(c.far.Call(c.ctx, "callFn", f)); v != 21.0 {
		t.Fatalf("a callback through the proxy: %v", v)
	}
	sq := c.far.Call(c.ctx, "square", 3)
	if v := c.await(c.far.Call(c.ctx, "square", sq)); v != 81.0 {
		t.Fatalf("a promise through the proxy: %v", v)
	}
	sq.Dispose()
	c.awaitError(c.far.Call(c.ctx, "fail"), "RangeError: bad")
	c.awaitError(c.far.Call(c.ctx, "nope"), "TypeError: 'nope' is not a function.")
}

func TestOrderThroughAProxy(t *testing.T) {
	c := newProxyChain(t)
	const n = 500
	for i := range n {
		if i%5 == 0 { // an argument that is a promise does not let later calls overtake
			k := c.far.Call(c.ctx, "fib", 3)
			c.far.Call(c.ctx, "note", i).Dispose()
			k.Dispose()
			continue
		}
		c.far.Call(c.ctx, "note", i).Dispose()
	}
	c.await(c.far.Call(c.ctx, "square", 1))
	if !reflect.DeepEqual(c.server.order, upTo(n)) {
		t.Fatalf("order was %v", c.server.order)
	}
}

func TestProxyBreaksWithItsSession(t *testing.T) {
	c := newProxyChain(t)
	hang, resolve, _ := NewPromise()
	defer resolve(1)
	pending := c.far.Call(c.ctx, "square", hang)
	c.await(c.far.Call(c.ctx, "square", 1))
	c.remote.Close()
	if _, err := pending.Await(c.ctx); err == nil {
		t.Fatal("the call outlived the session behind the proxy")
	}
	if _, err := c.far.Call(c.ctx, "square", 2).Await(c.ctx); err == nil {
		t.Fatal("a call through a dead session succeeded")
	}
	hang.Dispose()
}

// forwarder hands whole paths to a stub, as the kernel does.
type forwarder struct{ to *Stub }

func (f *forwarder) Call(context.Context, string, []any) (any, error) { return nil, NoMethod("x") }

func (f *forwarder) Forward(ctx context.Context, path, args []any, call bool) *Promise {
	if call {
		return f.to.CallPath(ctx, path, args)
	}
	return f.to.GetPath(ctx, path)
}

func TestForwarder(t *testing.T) {
	p := newPair(t, nil)
	a, b := Pipe()
	front, back := NewSession(b, &forwarder{p.main}, nil), NewSession(a, nil, nil)
	defer front.Close()
	defer back.Close()
	far := back.Main()
	defer far.Dispose()
	if v := p.await(far.CallPath(p.ctx, []any{"held", "inc"}, []any{2})); v != 102.0 {
		t.Fatalf("got %v", v)
	}
	if v := p.await(far.Call(p.ctx, "callFn", Func(func(_ context.Context, a []any) (any, error) { return a[0], nil }))); v != 7.0 {
		t.Fatalf("got %v", v)
	}
	if !eventually(func() bool { return atStart(front) && atStart(back) }) {
		t.Errorf("capabilities outlived the test: %+v %+v", front.Stats(), back.Stats())
	}
}

func TestStreamsThroughAProxy(t *testing.T) {
	c := newProxyChain(t)
	if v := c.await(c.far.Call(c.ctx, "sink", chunksOf(io.EOF, "qq", []byte("r")))); v != 3.0 {
		t.Errorf("stream argument: %v", v)
	}
	in := Blob{Type: "t", Bytes: make([]byte, 200<<10)}
	if v := c.await(c.far.Call(c.ctx, "echoBlob", in)); !reflect.DeepEqual(v, in) {
		t.Error("blob came back different")
	}
	got := &collector{}
	if v := c.await(c.far.Call(c.ctx, "fill", NewWriter(got), 20)); v != 20.0 || len(got.chunks) != 20 || !got.closed {
		t.Errorf("writer argument: %v, %+v", v, got)
	}
	st := c.await(c.far.Call(c.ctx, "getStream")).(*Stream)
	if b, err := st.ReadAll(c.ctx, 100); err != nil || string(b) != "a\x01\x02" {
		t.Errorf("stream result: %q %v", b, err)
	}
}

// What is asked of a promise while its queue runs goes behind the queue.
func TestQueueIsNotOvertaken(t *testing.T) {
	h := newPending()
	var got []int
	h.then(func(hook) {
		got = append(got, 1)
		h.then(func(hook) { got = append(got, 3) })
	})
	h.then(func(hook) { got = append(got, 2) })
	h.settle(settled(nil, nil))
	h.then(func(hook) { got = append(got, 4) })
	if !reflect.DeepEqual(got, []int{1, 2, 3, 4}) {
		t.Fatalf("order was %v", got)
	}
}
