package capnweb

import (
	"context"
	"strconv"
	"sync/atomic"
)

const (
	textMapEnded   = "map: a value of the function was used after the function had returned"
	textMapForeign = "map: a value belongs to the function of another map"
	textMapTarget  = "map: an object cannot be made inside the function; make a stub before it and use that"
	textMapPromise = "map: a promise that is not one of the peer's cannot be used inside the function; await it before"
)

// MapFunc describes what is to be done with one value. It is called once, with a stand-in for
// the value, and what it does is recorded: the calls are made later, where the value is, for
// each element of an array. What it returns is the result. In it and in arguments stand-ins,
// stubs and promises of the peer may be anywhere; objects may not be made.
type MapFunc func(m *Mapper, x *Expr) any

// Mapper is the recording of a MapFunc. It may only be used while the function runs.
type Mapper struct {
	parent   *Mapper
	child    *Mapper // the map inside whose function runs now
	hooks    []hook  // captures, ours to dispose; in a nested map only the outermost has hooks
	outer    []int64 // in a nested map: the captures' ids in parent
	known    map[hook]int64
	steps    []byte // the instructions, each with a comma after it
	count    int64
	err      error
	finished bool
}

// Expr stands for a value that is known only when a map runs: the element, the result of a
// call, a property.
type Expr struct {
	m    *Mapper
	id   int64
	path []any
	stub bool // a captured stub, delivered as it is
}

// Map applies f to the value at the end of path, at the peer: to each element if it is an
// array, not at all if it is null or undefined. Errors of f's recording reject the promise.
func (s *Stub) Map(ctx context.Context, path []any, f MapFunc) *Promise {
	return mapHook(ctx, s.hook(), path, f)
}

// Map applies f to the coming value, as Stub.Map does.
func (p *Promise) Map(ctx context.Context, f MapFunc) *Promise {
	return mapHook(ctx, p.hook(), nil, f)
}

func mapHook(ctx context.Context, h hook, path []any, f MapFunc) *Promise {
	if ctx != nil && ctx.Err() != nil {
		return Rejected(ctx.Err())
	}
	m := &Mapper{}
	sent := false
	defer func() {
		if !sent {
			disposeAll(m.hooks)
		}
	}()
	if err := m.record(f); err != nil {
		return Rejected(err)
	}
	tree, _, err := parseJSON(append(m.steps, ']'), 2*defaultMaxDepth+8, 1<<62)
	if err != nil {
		return Rejected(err)
	}
	instructions, _ := tree.([]any)
	s := &Session{opts: (*Options)(nil).withDefaults(), ctx: context.Background()}
	prog := &mapProgram{s: s, instructions: instructions, budget: &atomic.Int64{}}
	prog.budget.Store(int64(s.opts.MaxMap))
	sent = true
	return promiseOf(h.remap(path, m.hooks, prog))
}

// record runs f and leaves its instructions in steps.
func (m *Mapper) record(f MapFunc) error {
	m.steps = append(m.steps, '[')
	m.known = map[hook]int64{}
	result := f(m, &Expr{m: m})
	e := encoder{m: m}
	if err := e.value(result, 0); err != nil && m.err == nil {
		m.err = err
	}
	m.steps = append(m.steps, e.buf...)
	m.finished = true
	return m.err
}

// Stub makes a stub usable inside the function. It stays the caller's.
func (m *Mapper) Stub(s *Stub) *Expr { return m.use(s.hook(), true) }

// Promise makes a call in flight to the same peer usable inside the function. It stays the
// caller's.
func (m *Mapper) Promise(p *Promise) *Expr { return m.use(p.hook(), false) }

func (m *Mapper) use(h hook, stub bool) *Expr {
	id, err := m.capture(h)
	if err != nil {
		m.fail(err)
	}
	return &Expr{m: m, id: id, stub: stub}
}

// inner is the map whose function runs now.
func (m *Mapper) inner() *Mapper {
	for m.child != nil {
		m = m.child
	}
	return m
}

// add appends an instruction and returns what stands for its result.
func (m *Mapper) add(write func(e *encoder) error) *Expr {
	if m.finished {
		return &Expr{m: m}
	}
	e := encoder{m: m}
	if err := write(&e); err != nil {
		m.fail(err)
		return &Expr{m: m}
	}
	m.steps = append(append(m.steps, e.buf...), ',')
	m.count++
	return &Expr{m: m, id: m.count}
}

func (m *Mapper) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// capture gives h a number in the table of captures.
func (m *Mapper) capture(h hook) (int64, error) {
	h = through(h)
	if v, ok := h.(*valueHook); ok {
		if s, ok := v.pl.snapshot().(*Stub); ok {
			h = through(s.hook())
		}
	}
	switch h := h.(type) {
	case *errorHook:
		return 0, h.err
	case *importEntry, *localHook:
	default:
		return 0, typeError(textMapPromise)
	}
	if id, ok := m.known[h]; ok {
		return id, nil
	}
	if m.parent != nil {
		id, err := m.parent.capture(h)
		if err != nil {
			return 0, err
		}
		m.known[h] = m.captureOuter(id)
		return m.known[h], nil
	}
	m.hooks = append(m.hooks, h.dup())
	m.known[h] = -int64(len(m.hooks))
	return m.known[h], nil
}

// captureOuter captures what has the number id in the table of the map around.
func (m *Mapper) captureOuter(id int64) int64 {
	for i, known := range m.outer {
		if known == id {
			return -int64(i) - 1
		}
	}
	m.outer = append(m.outer, id)
	return -int64(len(m.outer))
}

// number is x's number in m's table; x may belong to a map around.
func (m *Mapper) number(x *Expr) (int64, error) {
	switch {
	case x.m == m:
		return x.id, nil
	case x.m.finished:
		return 0, typeError(textMapEnded)
	case m.parent == nil:
		return 0, typeError(textMapForeign)
	}
	id, err := m.parent.number(x)
	if err != nil {
		return 0, err
	}
	return m.captureOuter(id), nil
}

// Get stands for a property; path holds names (string) and indexes (int).
func (x *Expr) Get(path ...any) *Expr {
	return &Expr{m: x.m, id: x.id, path: append(append([]any(nil), x.path...), path...)}
}

// Call stands for the result of a method call; "" calls the value itself.
func (x *Expr) Call(method string, args ...any) *Expr {
	target := x
	if method != "" {
		target = x.Get(method)
	}
	return x.m.inner().add(func(e *encoder) error {
		id, err := e.m.number(target)
		if err != nil {
			return err
		}
		e.pipeline(id, target.path)
		e.buf = append(e.buf, ",["...)
		if err := e.items(args, 1); err != nil {
			return err
		}
		e.buf = append(e.buf, "]]"...)
		return nil
	})
}

// Map stands for the result of a map inside the map.
func (x *Expr) Map(f MapFunc) *Expr {
	outer := x.m.inner()
	return outer.add(func(e *encoder) error {
		m := &Mapper{parent: outer}
		outer.child = m
		err := m.record(f)
		outer.child = nil
		if err != nil {
			return err
		}
		id, err := outer.number(x)
		if err != nil {
			return err
		}
		e.buf = append(strconv.AppendInt(append(e.buf, `["remap",`...), id, 10), ',')
		e.path(x.path)
		e.buf = append(e.buf, ",["...)
		for i, id := range m.outer {
			if i > 0 {
				e.buf = append(e.buf, ',')
			}
			e.reference("import", id)
		}
		e.buf = append(append(append(e.buf, "],"...), m.steps...), "]]"...)
		return nil
	})
}

// expr writes a reference to what x stands for.
func (e *encoder) expr(x *Expr) error {
	if e.m == nil {
		return typeError(textMapEnded)
	}
	id, err := e.m.number(x)
	switch {
	case err != nil:
		return err
	case x.stub && len(x.path) == 0:
		e.reference("import", id)
	case len(x.path) == 0:
		e.reference("pipeline", id)
	default:
		e.pipeline(id, x.path)
		e.buf = append(e.buf, ']')
	}
	return nil
}

// pipeline writes ["pipeline",id,path without its end.
func (e *encoder) pipeline(id int64, path []any) {
	e.buf = append(strconv.AppendInt(append(e.buf, `["pipeline",`...), id, 10), ',')
	e.path(path)
}
