package capnweb

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// hook is what a stub or promise stands on: a local object, a value, an error, something of
// a peer's, or something not settled yet. A hook is counted by its holders: dup adds one,
// each holder calls dispose once.
type hook interface {
	// call takes over args. A nil ctx stands for context.Background().
	call(ctx context.Context, path []any, args *payload) hook
	// get returns a new hook of a property; an empty path gives the value itself.
	get(ctx context.Context, path []any) hook
	// remap takes over captures.
	remap(path []any, captures []hook, prog *mapProgram) hook
	dup() hook
	// pull calls fn once; the payload stays the hook's.
	pull(fn func(*payload, error))
	dispose()
	onBroken(fn func(error))
}

const (
	textDisposedHook = "Attempted to use an RPC StubHook after it was disposed."
	textDisposedStub = "Attempted to use RPC stub after it has been disposed."
)

// errorHook is the result of something that failed; whatever is done with it fails alike.
type errorHook struct{ err error }

var errDisposedStub = &errorHook{plainError(textDisposedStub)}

func (h *errorHook) call(_ context.Context, _ []any, args *payload) hook {
	args.dispose()
	return h
}
func (h *errorHook) get(context.Context, []any) hook { return h }
func (h *errorHook) remap(_ []any, captures []hook, _ *mapProgram) hook {
	disposeAll(captures)
	return h
}
func (h *errorHook) dup() hook                     { return h }
func (h *errorHook) pull(fn func(*payload, error)) { fn(nil, h.err) }
func (h *errorHook) dispose()                      {}
func (h *errorHook) onBroken(fn func(error))       { fn(h.err) }

func disposeAll(hooks []hook) {
	for _, h := range hooks {
		h.dispose()
	}
}

// through is what h stands for by now: it follows promises that are resolved.
func through(h hook) hook {
	for range 1 << 12 {
		switch x := h.(type) {
		case *importEntry:
			r := x.resolved()
			if r == nil {
				return h
			}
			h = r
		case *pendingHook:
			x.mu.Lock()
			done, to := x.done, x.to
			x.mu.Unlock()
			if !done {
				return h
			}
			h = to
		default:
			return h
		}
	}
	return h
}

// disposeChain disposes h and what it stands for without recursion.
func disposeChain(h hook) {
	for h != nil {
		switch x := h.(type) {
		case *importEntry:
			h = x.drop()
		case *pendingHook:
			h = x.orLater(func(to hook) { to.dispose() })
		default:
			h.dispose()
			return
		}
	}
}

// localHook is an object of this process.
type localHook struct {
	target Target
	refs   atomic.Int32
}

func (h *localHook) call(ctx context.Context, path []any, args *payload) hook {
	if err := args.own(); err != nil {
		return &errorHook{err}
	}
	return callTarget(ctx, h.target, path, args)
}

func (h *localHook) get(ctx context.Context, path []any) hook {
	if len(path) == 0 {
		return &valueHook{pl: stubPayload(h.dup())}
	}
	return getTarget(ctx, h.target, path)
}

func (h *localHook) remap(path []any, captures []hook, prog *mapProgram) hook {
	v := h.get(nil, path)
	out := v.remap(nil, captures, prog)
	v.dispose()
	return out
}

func (h *localHook) dup() hook {
	h.refs.Add(1)
	return h
}

func (h *localHook) pull(fn func(*payload, error)) {
	fn(nil, plainError("Tried to resolve a non-promise stub."))
}

func (h *localHook) dispose() {
	if h.refs.Add(-1) != 0 {
		return
	}
	if d, ok := h.target.(Disposer); ok {
		_, _ = protect(func() (any, error) { d.Dispose(); return nil, nil }, nil)
	}
}

func (h *localHook) onBroken(func(error)) {}

func stubPayload(h hook) *payload {
	s := &Stub{h: h}
	return &payload{value: s, stubs: []*Stub{s}}
}

// callTarget is the only function that enters a method of a Target.
func callTarget(ctx context.Context, t Target, path []any, args *payload) hook {
	if ctx == nil {
		ctx = context.Background()
	}
	if f, ok := t.(Forwarder); ok {
		list, _ := args.snapshot().([]any)
		p := forward(ctx, f, path, list, true)
		if w, ok := p.(*pendingHook); ok && len(args.held) > 0 {
			w.then(func(hook) { args.dispose() }) // a stream cannot be copied: whoever the call waits for takes it
			return p
		}
		args.dispose()
		return p
	}
	if len(path) > 1 {
		return callThrough(ctx, t, path, args)
	}
	name := ""
	if len(path) == 1 {
		name = partText(path[0])
		if onObjectPrototype(name) {
			args.dispose()
			return &errorHook{NoMethod(name)}
		}
	}
	if len(args.slots) == 0 {
		return enter(ctx, t, name, args)
	}
	out := newPending()
	args.deliver(func(err error) {
		if err != nil {
			args.dispose()
			out.settle(&errorHook{err})
			return
		}
		out.settle(enter(ctx, t, name, args))
	})
	return out
}

// enter runs the method; args live until the outcome is known.
func enter(ctx context.Context, t Target, name string, args *payload) hook {
	list, ok := args.value.([]any)
	if !ok {
		args.dispose()
		return &errorHook{typeError("arguments must be a list")}
	}
	if args.foreign {
		if err := args.detach(); err != nil {
			args.dispose()
			return &errorHook{err}
		}
		list, _ = args.value.([]any)
	}
	v, err := protect(func() (any, error) { return t.Call(ctx, name, list) }, ctx)
	p, ok := v.(*Promise)
	if err == nil && ok && p != nil && p.local {
		h := p.take()
		if w, ok := h.(*pendingHook); ok {
			w.then(func(to hook) {
				args.dispose()
				chargeResult(ctx, to)
			})
			return h
		}
		args.dispose()
		chargeResult(ctx, h)
		return h
	}
	h := settled(v, err)
	args.dispose()
	chargeResult(ctx, h)
	return h
}

// callThrough calls a method of a property of t; the last step is entered synchronously.
func callThrough(ctx context.Context, t Target, path []any, args *payload) hook {
	v, err := property(ctx, t, path[0])
	if err != nil {
		args.dispose()
		return &errorHook{err}
	}
	if inner, ok := v.(Target); ok {
		return callTarget(ctx, inner, path[1:], args)
	}
	h := settled(v, nil)
	out := h.call(ctx, path[1:], args)
	h.dispose()
	return renamePath(out, path)
}

// renamePath makes "'b' is not a function." name the whole path, as the caller wrote it.
func renamePath(h hook, path []any) hook {
	if e, ok := h.(*errorHook); ok {
		var missing *Error
		if errors.As(e.err, &missing) && missing.Message == "'"+pathText(path[1:])+"' is not a function." {
			return &errorHook{NoMethod(pathText(path))}
		}
	}
	return h
}

func forward(ctx context.Context, f Forwarder, path, args []any, call bool) hook {
	v, err := protect(func() (any, error) { return f.Forward(ctx, path, args, call), nil }, ctx)
	if p, ok := v.(*Promise); ok && p == nil {
		v = Undefined{}
	}
	return settled(v, err)
}

func getTarget(ctx context.Context, t Target, path []any) hook {
	if ctx == nil {
		ctx = context.Background()
	}
	if f, ok := t.(Forwarder); ok {
		return forward(ctx, f, path, nil, false)
	}
	v, err := property(ctx, t, path[0])
	if err != nil {
		return &errorHook{err}
	}
	if inner, ok := v.(Target); ok && len(path) > 1 {
		return getTarget(ctx, inner, path[1:])
	}
	h := settled(v, nil)
	if len(path) == 1 {
		return h
	}
	out := h.get(ctx, path[1:])
	h.dispose()
	return out
}

// property reads one property of an object; a method read as a property is a function bound
// to its object.
func property(ctx context.Context, t Target, part any) (any, error) {
	name := partText(part)
	if onObjectPrototype(name) {
		return Undefined{}, nil
	}
	if m, ok := t.(methodLister); ok && m.HasMethod(name) {
		return Func(func(ctx context.Context, args []any) (any, error) { return t.Call(ctx, name, args) }), nil
	}
	if p, ok := t.(PropertyTarget); ok {
		return protect(func() (any, error) { return p.Property(ctx, name) }, ctx)
	}
	return Undefined{}, nil
}

// panicKey finds a session's OnPanic in the ctx of its calls.
type panicKey struct{}

// protect is the only place where a panic of application code is caught.
func protect(f func() (any, error), ctx context.Context) (v any, err error) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		v, err = nil, plainError("internal error")
		if ctx == nil {
			return
		}
		if tell, ok := ctx.Value(panicKey{}).(func(any)); ok && tell != nil {
			tell(r)
		}
	}()
	return f()
}

// pendingHook is the result of something not finished. What is asked of it waits in a queue
// and runs in order when it settles.
type pendingHook struct {
	mu      sync.Mutex
	to      hook
	done    bool // the queue is empty and to is set: go on directly
	waiting []func(hook)
}

func newPending() *pendingHook { return &pendingHook{} }

// claim sets the outcome; false if there is one.
func (h *pendingHook) claim(to hook) bool {
	if to == hook(h) {
		to = &errorHook{typeError("a promise was resolved with itself")}
	}
	h.mu.Lock()
	ok := h.to == nil
	if ok {
		h.to = to
	}
	h.mu.Unlock()
	if !ok {
		to.dispose()
	}
	return ok
}

// drain runs the queue, including what is added meanwhile.
func (h *pendingHook) drain() {
	for {
		h.mu.Lock()
		waiting := h.waiting
		h.waiting = nil
		if len(waiting) == 0 {
			h.done = true
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
		for _, fn := range waiting {
			fn(h.to)
		}
	}
}

func (h *pendingHook) settle(to hook) {
	if h.claim(to) {
		h.drain()
	}
}

// settleAside settles without running anybody's code on this goroutine.
func (h *pendingHook) settleAside(to hook) {
	if !h.claim(to) {
		return
	}
	h.mu.Lock()
	idle := len(h.waiting) == 0
	h.done = idle
	h.mu.Unlock()
	if !idle {
		go h.drain()
	}
}

func (h *pendingHook) then(fn func(hook)) {
	if to := h.orLater(fn); to != nil {
		fn(to)
	}
}

// orLater returns what h is settled with, or puts fn in the queue.
func (h *pendingHook) orLater(fn func(hook)) hook {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done {
		return h.to
	}
	h.waiting = append(h.waiting, fn)
	return nil
}

func (h *pendingHook) chain(f func(hook) hook) hook {
	out := newPending()
	h.then(func(to hook) { out.settle(f(to)) })
	return out
}

func (h *pendingHook) call(ctx context.Context, path []any, args *payload) hook {
	if err := args.own(); err != nil {
		return &errorHook{err}
	}
	return h.chain(func(to hook) hook { return to.call(ctx, path, args) })
}

func (h *pendingHook) get(ctx context.Context, path []any) hook {
	return h.chain(func(to hook) hook { return to.get(ctx, path) })
}

func (h *pendingHook) remap(path []any, captures []hook, prog *mapProgram) hook {
	return h.chain(func(to hook) hook { return to.remap(path, captures, prog) })
}

func (h *pendingHook) dup() hook { return h.chain(func(to hook) hook { return to.dup() }) }

func (h *pendingHook) pull(fn func(*payload, error)) {
	h.then(func(to hook) { to.pull(fn) })
}

func (h *pendingHook) dispose() { disposeChain(h) }

func (h *pendingHook) onBroken(fn func(error)) { h.then(func(to hook) { to.onBroken(fn) }) }
