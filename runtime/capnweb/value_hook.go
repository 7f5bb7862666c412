package capnweb

import (
	"context"
	"sync/atomic"
)

// valueHook is a settled value.
type valueHook struct {
	pl   *payload
	gone atomic.Bool
}

// find follows a path inside the value. It ends at a value, or at a stub or promise with the
// rest of the path.
func (h *valueHook) find(path []any) (v any, next hook, rest []any, err error) {
	if h.gone.Load() {
		return nil, nil, nil, plainError(textDisposedHook)
	}
	if len(h.pl.slots) > 0 {
		h.pl.mu.Lock()
		defer h.pl.mu.Unlock()
	}
	v = h.pl.value
	for i, part := range path {
		switch at := v.(type) {
		case *Stub:
			return nil, at.hook(), path[i:], nil
		case *Promise:
			return nil, at.hook(), path[i:], nil
		default:
			if v, err = member(v, part); err != nil {
				return nil, nil, nil, err
			}
		}
	}
	if p, ok := v.(*Promise); ok {
		return nil, p.hook(), nil, nil
	}
	return v, nil, nil, nil
}

func member(v, part any) (any, error) {
	name := partText(part)
	if onObjectPrototype(name) {
		return Undefined{}, nil
	}
	switch v := v.(type) {
	case Object:
		if f, ok := v.Get(name); ok {
			return f, nil
		}
	case []any:
		if i, ok := part.(int); ok && i >= 0 && i < len(v) {
			return v[i], nil
		}
	case Undefined:
		return nil, typeError("Cannot read properties of undefined (reading '" + name + "')")
	}
	return Undefined{}, nil
}

func (h *valueHook) call(ctx context.Context, path []any, args *payload) hook {
	v, next, rest, err := h.find(path)
	if err != nil {
		args.dispose()
		return &errorHook{err}
	}
	if s, ok := v.(*Stub); ok {
		next = s.hook()
	}
	if next != nil {
		return next.call(ctx, rest, args)
	}
	args.dispose()
	return &errorHook{NoMethod(pathText(path))}
}

func (h *valueHook) get(ctx context.Context, path []any) hook {
	v, next, rest, err := h.find(path)
	if err != nil {
		return &errorHook{err}
	}
	if next != nil {
		return next.get(ctx, rest)
	}
	pl, err := copyOf(h.unshared(v), h.pl.plain())
	if err != nil {
		return &errorHook{err}
	}
	return &valueHook{pl: pl}
}

func (h *valueHook) remap(path []any, captures []hook, prog *mapProgram) hook {
	v, next, rest, err := h.find(path)
	if err != nil {
		disposeAll(captures)
		return &errorHook{err}
	}
	if next != nil {
		return next.remap(rest, captures, prog)
	}
	return applyMap(h.unshared(v), h.pl.plain(), captures, prog)
}

// unshared is v, part of the value, out of reach of a delivery that goes on.
func (h *valueHook) unshared(v any) any {
	if len(h.pl.slots) == 0 {
		return v
	}
	h.pl.mu.Lock()
	defer h.pl.mu.Unlock()
	return cloneContainers(v)
}

// weight is the cost of copying what a path leads to: nothing if it can be shared.
func (h *valueHook) weight(path []any) int {
	if h.pl.plain() {
		return 0
	}
	v, _, _, _ := h.find(path)
	return sizeOf(v, 0) / 16
}

func (h *valueHook) dup() hook { return h.get(nil, nil) }

func (h *valueHook) pull(fn func(*payload, error)) {
	if h.gone.Load() {
		fn(nil, plainError(textDisposedHook))
		return
	}
	fn(h.pl, nil)
}

func (h *valueHook) dispose() {
	if !h.gone.Swap(true) {
		h.pl.dispose()
	}
}

func (h *valueHook) onBroken(fn func(error)) {
	if s, ok := h.pl.snapshot().(*Stub); ok {
		s.OnBroken(fn)
	}
}
