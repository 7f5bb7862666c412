package capnweb

import "context"

// valueHook is a settled value. Its holders share one payload and are counted there.
type valueHook struct{ pl *payload }

// find follows a path inside the value. It ends at a value, or at a stub or promise with the
// rest of the path. cost counts the properties looked through.
func (h *valueHook) find(path []any, cost *int) (v any, next hook, rest []any, err error) {
	if h.pl.refs.Load() < 0 {
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
			if v, err = h.pl.member(v, part, cost); err != nil {
				return nil, nil, nil, err
			}
		}
	}
	if p, ok := v.(*Promise); ok {
		return nil, p.hook(), nil, nil
	}
	return v, nil, nil, nil
}

func (pl *payload) member(v, part any, cost *int) (any, error) {
	name := partText(part)
	if onObjectPrototype(name) {
		return Undefined{}, nil
	}
	switch v := v.(type) {
	case Object:
		if f, ok := pl.property(v, name, cost); ok {
			return f, nil
		}
	case []any:
		if i, ok := part.(int); ok && i >= 0 && i < len(v) {
			return v[i], nil
		}
	case Undefined:
		return nil, typeError("Cannot read properties of undefined (reading '" + clipName(name) + "')")
	}
	return Undefined{}, nil
}

// property is Object.Get with an index for large objects, made at the first use.
func (pl *payload) property(o Object, name string, cost *int) (any, bool) {
	if len(o) < 32 {
		*cost += len(o)
		return o.Get(name)
	}
	pl.indexing.Lock()
	defer pl.indexing.Unlock()
	index, ok := pl.indexes[&o[0]]
	if !ok {
		*cost += len(o)
		index = make(map[string]int, len(o))
		for i := range o {
			index[o[i].Key] = i
		}
		if pl.indexes == nil {
			pl.indexes = map[*Field]map[string]int{}
		}
		pl.indexes[&o[0]] = index
	}
	i, ok := index[name]
	if !ok {
		return nil, false
	}
	return o[i].Value, true
}

func (h *valueHook) call(ctx context.Context, path []any, args *payload) hook {
	v, next, rest, err := h.find(path, new(int))
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
	v, next, rest, err := h.find(path, new(int))
	if err != nil {
		return &errorHook{err}
	}
	if next != nil {
		return next.get(ctx, rest)
	}
	switch {
	case len(path) == 0 && h.pl.share():
		return h
	case h.pl.plain():
		pl := &payload{value: v}
		root := h
		if h.pl.parent != nil {
			root = h.pl.parent
		}
		if root.pl.share() {
			pl.parent = root
		}
		return &valueHook{pl: pl}
	}
	pl, err := copyFor(ctx, h.unshared(v))
	if err != nil {
		return &errorHook{err}
	}
	return &valueHook{pl: pl}
}

func (h *valueHook) remap(path []any, captures []hook, prog *mapProgram) hook {
	v, next, rest, err := h.find(path, new(int))
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

// weight is the cost of following path and of copying what it leads to. The whole is not
// copied to be read.
func (h *valueHook) weight(path []any, whole bool) int {
	n := 0
	v, _, _, _ := h.find(path, &n)
	if (whole || len(path) > 0) && !h.pl.plain() {
		n += sizeOf(v, 0) / 16
	}
	return n
}

func (h *valueHook) dup() hook { return h.get(nil, nil) }

func (h *valueHook) pull(fn func(*payload, error)) {
	if h.pl.refs.Load() < 0 {
		fn(nil, plainError(textDisposedHook))
		return
	}
	fn(h.pl, nil)
}

func (h *valueHook) dispose() {
	if h.pl.drop() {
		h.pl.dispose()
	}
}

func (h *valueHook) onBroken(fn func(error)) {
	if s, ok := h.pl.snapshot().(*Stub); ok {
		s.OnBroken(fn)
	}
}
