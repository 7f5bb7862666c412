package capnweb

import (
	"context"
	"strconv"
	"sync"
)

// Stub is a reference to an object, local or remote. Its methods may be used from any
// goroutine. A stub that is not disposed keeps its object alive.
type Stub struct {
	mu sync.Mutex
	h  hook // nil once disposed
}

// NewStub makes a reference to t. When t is a Disposer, its Dispose runs once, when the stub
// and everything duplicated from it, here and at peers, are gone.
func NewStub(t Target) *Stub {
	h := &localHook{target: t}
	h.refs.Store(1)
	return &Stub{h: h}
}

func (s *Stub) hook() hook {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.h == nil {
		return errDisposedStub
	}
	return s.h
}

// Call calls a method; "" calls the object itself. Stubs in args stay the caller's.
func (s *Stub) Call(ctx context.Context, method string, args ...any) *Promise {
	if method == "" {
		return s.CallPath(ctx, nil, args)
	}
	return s.CallPath(ctx, []any{method}, args)
}

// CallPath calls the method at the end of a path of property names (string) and array
// indexes (int).
func (s *Stub) CallPath(ctx context.Context, path []any, args []any) *Promise {
	return callHook(ctx, s.hook(), path, args)
}

// GetPath reads the property at the end of a path.
func (s *Stub) GetPath(ctx context.Context, path []any) *Promise {
	return promiseOf(s.hook().get(ctx, path))
}

// Dup returns another reference to the same object, to be disposed on its own.
func (s *Stub) Dup() *Stub {
	return &Stub{h: s.hook().dup()}
}

// Dispose gives up the reference; again is harmless.
func (s *Stub) Dispose() {
	s.mu.Lock()
	h := s.h
	s.h = nil
	s.mu.Unlock()
	if h != nil {
		h.dispose()
	}
}

// OnBroken calls f once if the object becomes unreachable (its session ended, or the promise
// behind the stub was rejected), at once if it already is. It does not fire for a local
// object.
func (s *Stub) OnBroken(f func(error)) { s.hook().onBroken(f) }

// Target returns the object itself when it lives in this process and the stub is no proxy.
func (s *Stub) Target() (Target, bool) {
	if l, ok := s.hook().(*localHook); ok {
		return l.target, true
	}
	return nil, false
}

func callHook(ctx context.Context, h hook, path, args []any) *Promise {
	if ctx != nil && ctx.Err() != nil {
		return Rejected(ctx.Err())
	}
	if args == nil {
		args = []any{}
	}
	return promiseOf(h.call(ctx, path, &payload{value: args, borrowed: true}))
}

// Promise is the coming result of a call. Whoever gets one either awaits it, passes it on as
// the result of a method, or disposes it. Stubs in the awaited value may be disposed one by
// one or all at once with Dispose; the value may be shared and must not be modified.
type Promise struct {
	mu       sync.Mutex
	h        hook
	local    bool // made here by Async or NewPromise: a call lasts until it settles
	disposed bool
	own      *payload // the application's copy, if the value had other holders
	done     chan struct{}
	value    any
	err      error
}

func promiseOf(h hook) *Promise { return &Promise{h: h} }

func (p *Promise) hook() hook { return p.h }

// Done is closed when the promise is settled. Asking for it requests the value.
func (p *Promise) Done() <-chan struct{} {
	p.mu.Lock()
	if p.done != nil {
		p.mu.Unlock()
		return p.done
	}
	p.done = make(chan struct{})
	p.mu.Unlock()
	p.h.pull(func(pl *payload, err error) {
		if err != nil {
			p.finish(nil, err)
			return
		}
		pl.deliver(func(err error) {
			if err != nil {
				p.finish(nil, err)
				return
			}
			own, err := pl.handOut()
			if own != pl && err == nil {
				p.keep(own)
			}
			pl.charge.Swap(nil).release()
			own.uncharge()
			p.finish(own.value, err)
		})
	})
	return p.done
}

// keep holds the application's own copy of the value until the promise is disposed.
func (p *Promise) keep(own *payload) {
	p.mu.Lock()
	was := p.disposed
	p.own = own
	p.mu.Unlock()
	if was {
		own.dispose()
	}
}

func (p *Promise) finish(v any, err error) {
	p.value, p.err = v, err
	close(p.done)
}

// Await returns the value or the error thrown. When ctx ends first the promise goes on; it
// may be awaited again or disposed.
func (p *Promise) Await(ctx context.Context) (any, error) {
	done := p.Done()
	select {
	case <-done:
		return p.value, p.err
	default:
	}
	select {
	case <-done:
		return p.value, p.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Call calls a method of the coming value without waiting for it.
func (p *Promise) Call(ctx context.Context, method string, args ...any) *Promise {
	if method == "" {
		return p.CallPath(ctx, nil, args)
	}
	return p.CallPath(ctx, []any{method}, args)
}

// CallPath is Stub.CallPath on the coming value.
func (p *Promise) CallPath(ctx context.Context, path []any, args []any) *Promise {
	return callHook(ctx, p.hook(), path, args)
}

// GetPath is Stub.GetPath on the coming value.
func (p *Promise) GetPath(ctx context.Context, path []any) *Promise {
	return promiseOf(p.hook().get(ctx, path))
}

// OnBroken calls f once if the promise is rejected, or what it is resolved with breaks, as
// Stub.OnBroken does.
func (p *Promise) OnBroken(f func(error)) { p.hook().onBroken(f) }

// Stub returns a stub of the coming object; calls on it are pipelined. It has a life of its
// own.
func (p *Promise) Stub() *Stub { return &Stub{h: p.hook().dup()} }

// Dispose gives up the result: an unfinished call goes on but its result is dropped. Again
// is harmless.
func (p *Promise) Dispose() {
	p.mu.Lock()
	was, own := p.disposed, p.own
	p.disposed = true
	p.mu.Unlock()
	if was {
		return
	}
	p.h.dispose()
	if own != nil {
		own.dispose()
	}
}

// take hands the promise's hook over to the caller.
func (p *Promise) take() hook {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.disposed {
		return &errorHook{plainError(textDisposedHook)}
	}
	p.disposed = true
	if p.own != nil {
		p.own.dispose()
	}
	return p.h
}

// Async runs f on its own goroutine and returns the promise of its result. A panic of f
// rejects the promise.
func Async(ctx context.Context, f func(ctx context.Context) (any, error)) *Promise {
	h := newPending()
	go func() {
		v, err := protect(func() (any, error) { return f(ctx) }, nil)
		h.settle(settled(v, err))
	}()
	return &Promise{h: h, local: true}
}

// Resolved is a promise of v.
func Resolved(v any) *Promise { return &Promise{h: settled(v, nil), local: true} }

// Rejected is a promise that failed.
func Rejected(err error) *Promise { return &Promise{h: &errorHook{err}, local: true} }

// NewPromise returns a promise and the functions that settle it; the first one called
// counts. They return at once: what waits for the promise runs on another goroutine.
func NewPromise() (p *Promise, resolve func(any), reject func(error)) {
	h := newPending()
	settle := func(to hook) { h.settleAside(to) }
	return &Promise{h: h, local: true},
		func(v any) { settle(settled(v, nil)) },
		func(err error) { settle(&errorHook{err}) }
}

// settled is the hook of a method's outcome.
func settled(v any, err error) hook {
	if err != nil {
		return &errorHook{err}
	}
	if p, ok := v.(*Promise); ok && p != nil {
		return p.take()
	}
	pl, err := adopt(v)
	if err != nil {
		return &errorHook{err}
	}
	return &valueHook{pl: pl}
}

func partText(p any) string {
	switch p := p.(type) {
	case string:
		return p
	case int:
		return strconv.Itoa(p)
	}
	return "?"
}
