package capnweb

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestCall(t *testing.T) {
	p := newPair(t, nil)
	if v := p.await(p.main.Call(p.ctx, "square", 5)); v != 25.0 {
		t.Fatalf("square(5) = %v", v)
	}
	p.awaitError(p.main.Call(p.ctx, "nope"), "TypeError: 'nope' is not a function.")
	p.awaitError(p.main.Call(p.ctx, "plainError"), "plain")
	p.awaitError(p.main.Call(p.ctx, "panic"), "internal error")
	p.awaitError(p.main.Call(p.ctx, "fail"), "RangeError: bad")
}

func TestPipelining(t *testing.T) {
	p := newPair(t, nil)
	c := p.main.Call(p.ctx, "makeCounter", 4)
	if v := p.await(c.Call(p.ctx, "inc", 2)); v != 6.0 {
		t.Fatalf("got %v", v)
	}
	if v := p.await(c.GetPath(p.ctx, []any{"value"})); v != 6.0 {
		t.Fatalf("got %v", v)
	}
	c.Dispose()
	u := p.main.Call(p.ctx, "user")
	defer u.Dispose()
	name := u.GetPath(p.ctx, []any{"name"})
	defer name.Dispose()
	if v := p.await(p.main.Call(p.ctx, "echo", name)); v != "bob" {
		t.Fatalf("got %v", v)
	}
	p.awaitError(u.CallPath(p.ctx, []any{"nope", "x"}, nil), "TypeError: Cannot read properties of undefined (reading 'x')")
}

func TestReturnedStub(t *testing.T) {
	p := newPair(t, nil)
	c := p.await(p.main.Call(p.ctx, "makeCounter", 4)).(*Stub)
	if v := p.await(c.Call(p.ctx, "inc")); v != 5.0 {
		t.Fatalf("got %v", v)
	}
	d := c.Dup()
	c.Dispose()
	if v := p.await(d.GetPath(p.ctx, []any{"value"})); v != 5.0 {
		t.Fatalf("got %v", v)
	}
	d.Dispose()
	p.awaitError(c.Call(p.ctx, "inc"), textDisposedStub)
}

func TestPropertyPathReachesAnObject(t *testing.T) {
	p := newPair(t, nil)
	if v := p.await(p.main.CallPath(p.ctx, []any{"held", "inc"}, []any{1})); v != 101.0 {
		t.Fatalf("got %v", v)
	}
	p.awaitError(p.main.CallPath(p.ctx, []any{"held", "nope"}, nil), "TypeError: 'held.nope' is not a function.")
	f := p.await(p.main.GetPath(p.ctx, []any{"square"})).(*Stub)
	if v := p.await(f.Call(p.ctx, "", 3)); v != 9.0 {
		t.Fatalf("a method read as a value gave %v", v)
	}
	f.Dispose()
}

func TestCallbacks(t *testing.T) {
	p := newPair(t, nil)
	var gone atomic.Int64
	f := &Table{Methods: Methods{"": func(_ context.Context, a []any) (any, error) { return a[0].(float64) + 1, nil }},
		OnDispose: func() { gone.Add(1) }}
	if v := p.await(p.main.Call(p.ctx, "callFn", f)); v != 8.0 {
		t.Fatalf("got %v", v)
	}
	if v := p.await(p.main.Call(p.ctx, "callFunction", f, 20)); !reflect.DeepEqual(v, Object{{"result", 21.0}}) {
		t.Fatalf("got %v", v)
	}
	if !eventually(func() bool { return gone.Load() == 2 }) {
		t.Errorf("the callback was disposed %d times, want 2", gone.Load())
	}
	bad := Func(func(context.Context, []any) (any, error) { return nil, typeError("cb") })
	p.awaitError(p.main.Call(p.ctx, "callFn", bad), "TypeError: cb")
}

func TestArgumentStubsEndWithTheCall(t *testing.T) {
	p := newPair(t, nil)
	c := p.await(p.main.Call(p.ctx, "makeCounter", 1)).(*Stub)
	p.awaitError(p.main.Call(p.ctx, "echo", c), textDisposedHook)
	if v := p.await(p.main.Call(p.ctx, "incrementCounter", c, 4)); v != 5.0 {
		t.Fatalf("got %v", v)
	}
	c.Dispose()
	if v := p.await(p.main.Call(p.ctx, "incrementCounter", p.server.counter(9))); v != 10.0 {
		t.Fatalf("own counter: %v", v)
	}
	if v := p.await(p.main.Call(p.ctx, "keep", p.server.counter(50))); v != 1.0 {
		t.Fatalf("keep gave %v", v)
	}
	if v := p.await(p.server.state.kept[0].Call(p.ctx, "inc")); v != 51.0 {
		t.Fatalf("kept stub: %v", v)
	}
}

func TestPromisesInArguments(t *testing.T) {
	p := newPair(t, nil)
	sq := func(n any) *Promise { return p.main.Call(p.ctx, "square", n) }
	a, b, c := sq(2), sq(3), sq(4)
	v := p.await(p.main.Call(p.ctx, "echo", []any{a, b, Object{{"x", c}}}))
	if !reflect.DeepEqual(v, []any{4.0, 9.0, Object{{"x", 16.0}}}) {
		t.Fatalf("got %v", v)
	}
	for _, x := range []*Promise{a, b, c} {
		x.Dispose()
	}
	slow := p.main.Call(p.ctx, "slow", 6)
	if v := p.await(sq(slow)); v != 36.0 {
		t.Fatalf("got %v", v)
	}
	slow.Dispose()
	f := p.main.Call(p.ctx, "fail")
	p.awaitError(sq(f), "RangeError: bad")
	f.Dispose()
	own, resolve, _ := NewPromise()
	r := sq(own)
	resolve(12)
	if v := p.await(r); v != 144.0 {
		t.Fatalf("a promise of the caller: %v", v)
	}
	own.Dispose()
	failed := Rejected(errors.New("no"))
	p.awaitError(sq(failed), "no")
}

func TestResultWithPromises(t *testing.T) {
	p := newPair(t, nil)
	m := p.main.Dup()
	v := p.await(p.main.Call(p.ctx, "callSquare", m, 6))
	m.Dispose()
	if !reflect.DeepEqual(v, Object{{"result", 36.0}}) {
		t.Fatalf("got %v", v)
	}
}

func TestUnawaitedCallsAreReleased(t *testing.T) {
	p := newPair(t, nil)
	p.main.Call(p.ctx, "square", 1).Dispose()
	c := p.main.Call(p.ctx, "makeCounter", 1)
	c.Call(p.ctx, "inc").Dispose()
	c.Dispose()
	p.main.Call(p.ctx, "slow", 1).Dispose()
	if v := p.await(p.main.Call(p.ctx, "square", 2)); v != 4.0 {
		t.Fatalf("got %v", v)
	}
}

func TestAbort(t *testing.T) {
	p := newPair(t, nil)
	broken := make(chan error, 2)
	c := p.await(p.main.Call(p.ctx, "makeCounter", 1)).(*Stub)
	c.OnBroken(func(err error) { broken <- err })
	p.main.OnBroken(func(err error) { broken <- err })
	hang, _, _ := NewPromise()
	pending := p.main.Call(p.ctx, "square", hang)
	p.client.pushRaw(`["bogus"]`)
	if _, err := pending.Await(p.ctx); err == nil || err.Error() != "TypeError: bad RPC message" {
		t.Fatalf("pending call ended with %v", err)
	}
	for range 2 {
		select {
		case err := <-broken:
			if err.Error() != "TypeError: bad RPC message" {
				t.Errorf("broken with %v", err)
			}
		case <-time.After(time.Second):
			t.Fatal("OnBroken did not fire")
		}
	}
	<-p.remote.Done()
	if st := p.remote.Stats(); st.Exports+st.Imports != 0 {
		t.Errorf("a dead session holds %+v", st)
	}
	if _, err := p.main.Call(p.ctx, "square", 1).Await(p.ctx); err == nil {
		t.Error("a call on a dead session succeeded")
	}
}

func (s *Session) pushRaw(text string) {
	s.mu.Lock()
	s.pushLocked([]byte(text))
	s.mu.Unlock()
	s.flush()
}

func TestCloseFailsWhatIsPending(t *testing.T) {
	p := newPair(t, nil)
	hang, _, _ := NewPromise()
	pending := p.main.Call(p.ctx, "square", hang)
	p.client.Close()
	if _, err := pending.Await(p.ctx); !errors.Is(err, ErrClosed) {
		t.Fatalf("got %v", err)
	}
	<-p.remote.Done()
	if !errors.Is(p.remote.Err(), ErrPeerClosed) {
		t.Fatalf("the peer ended with %v", p.remote.Err())
	}
}

func TestOnSendErrorReplaces(t *testing.T) {
	a, b := Pipe()
	s := NewSession(b, Methods{"x": func(context.Context, []any) (any, error) { return nil, errors.New("/home/secret") }},
		&Options{OnSendError: func(error) error { return &Error{Name: "Error", Message: "withheld", Stack: "here"} }})
	c := NewSession(a, nil, nil)
	defer s.Close()
	defer c.Close()
	m := c.Main()
	defer m.Dispose()
	_, err := m.Call(t.Context(), "x").Await(t.Context())
	var e *Error
	if !errors.As(err, &e) || e.Message != "withheld" || e.Stack != "here" {
		t.Fatalf("got %#v", err)
	}
}

// Settling a promise and ending a session run nobody's code on the caller's goroutine: both
// are legal under a lock that the code takes too.
func TestNothingRunsUnderTheCallersLock(t *testing.T) {
	p := newPair(t, nil)
	var mu sync.Mutex
	locked := Func(func(context.Context, []any) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		return "in", nil
	})
	pr, resolve, _ := NewPromise()
	r := pr.Call(p.ctx, "")
	mu.Lock()
	resolve(locked)
	mu.Unlock()
	if v := p.await(r); v != "in" {
		t.Fatalf("got %v", v)
	}
	pr.Dispose()
	heard := make(chan bool, 1)
	p.main.OnBroken(func(error) {
		mu.Lock()
		defer mu.Unlock()
		p.client.Close()
		heard <- true
	})
	mu.Lock()
	p.client.Close()
	mu.Unlock()
	<-heard
	<-p.client.Done()
}

func TestCloseFromAMethod(t *testing.T) {
	a, b := Pipe()
	var s *Session
	ready := make(chan bool)
	s = NewSession(b, Methods{"end": func(context.Context, []any) (any, error) {
		<-ready
		s.Close()
		return nil, nil
	}}, nil)
	close(ready)
	c := NewSession(a, nil, nil)
	if _, err := c.Main().Call(t.Context(), "end").Await(t.Context()); !errors.Is(err, ErrPeerClosed) {
		t.Errorf("the call ended with %v", err)
	}
	<-s.Done()
	<-c.Done()
}

func TestPromises(t *testing.T) {
	ctx := t.Context()
	if _, err := Async(ctx, func(context.Context) (any, error) { panic("x") }).Await(ctx); err == nil || err.Error() != "internal error" {
		t.Errorf("a panic gave %v", err)
	}
	p, resolve, reject := NewPromise()
	resolve(1)
	resolve(2)
	reject(errors.New("late"))
	if v, err := p.Await(ctx); v != 1.0 || err != nil {
		t.Errorf("got %v %v", v, err)
	}
	self, settle, _ := NewPromise()
	settle(self)
	if _, err := self.Await(ctx); err == nil {
		t.Error("a promise resolved with itself has a value")
	}
	if v, err := Resolved(Object{{"a", []any{1, 2}}}).GetPath(ctx, []any{"a", 1}).Await(ctx); v != 2.0 || err != nil {
		t.Errorf("got %v %v", v, err)
	}
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	hang, _, _ := NewPromise()
	if _, err := hang.Await(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, err := Resolved(1).Call(short, "x").Await(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call after its context: %v", err)
	}
	if _, err := Resolved(nil).Await(ctx); err != nil {
		t.Error(err)
	}
}

// A stub of a promise is called before the promise is known.
func TestStubOfAPromise(t *testing.T) {
	p := newPair(t, nil)
	c := p.main.Call(p.ctx, "makeCounter", 1)
	st := c.Stub()
	c.Dispose()
	if v := p.await(st.Call(p.ctx, "inc")); v != 2.0 {
		t.Fatalf("got %v", v)
	}
	if v := p.await(p.main.Call(p.ctx, "incrementCounter", st, 3)); v != 5.0 {
		t.Fatalf("got %v", v)
	}
	st.Dispose()
	own := NewStub(p.server.target())
	if _, ok := own.Target(); !ok {
		t.Error("a local stub does not know its object")
	}
	own.Dispose()
}
