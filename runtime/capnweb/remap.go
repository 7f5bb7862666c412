package capnweb

import "sync/atomic"

// mapProgram is the function of a map() call: instructions evaluated in order for each
// element against a private table. In that table negative ids are captures, 0 is the
// element, k is the result of instruction k-1; the last instruction is the result.
type mapProgram struct {
	s            *Session // whose limits and context apply
	instructions []any
	budget       *atomic.Int64
	charge       *charge
	paths        map[*any][]any // parsed, by the expression they are in
}

// applyMap runs prog for each element of an array, once for any other value, and not at all
// for null and undefined. It takes over captures. plain tells that input may be shared.
func applyMap(input any, plain bool, captures []hook, prog *mapProgram) hook {
	defer disposeAll(captures)
	pl := &payload{}
	pl.charge.Store(prog.charge.retain())
	var err error
	switch in := input.(type) {
	case nil, Undefined:
		pl.value = in
	case []any:
		out := make([]any, len(in))
		pl.value = out
		for i := range in {
			if err = prog.element(pl, &out[i], in[i], plain, captures); err != nil {
				break
			}
		}
	default:
		err = prog.element(pl, &pl.value, in, plain, captures)
	}
	if err != nil {
		pl.dispose()
		return &errorHook{mapError(err)}
	}
	if p, ok := pl.value.(*Promise); ok {
		return p.take()
	}
	return &valueHook{pl: pl}
}

// failed is the error of a promise that has failed at once, among the slots of an element:
// then the whole map fails, and the other elements need not be evaluated.
func failed(slots []slot) error {
	for i := range slots {
		if h, ok := slots[i].promise.hook().(*errorHook); ok {
			return h.err
		}
	}
	return nil
}

// spend takes n off what the map may still cost.
func (prog *mapProgram) spend(n int) error {
	if prog.budget.Add(-int64(n)) < 0 {
		return errMapTooLarge
	}
	return prog.charge.add(n * costMapValue)
}

func mapError(err error) error {
	if p, ok := err.(protocolError); ok {
		return plainError(string(p))
	}
	return err
}

func (prog *mapProgram) element(pl *payload, at *any, input any, plain bool, captures []hook) error {
	if len(prog.instructions) == 0 {
		return errMapEmpty
	}
	if err := prog.s.ctx.Err(); err != nil {
		return plainError("the session has ended")
	}
	if !plain {
		if err := prog.spend(sizeOf(input, 0) / 16); err != nil {
			return err
		}
	}
	in, err := copyOf(input, plain)
	if err != nil {
		return err
	}
	t := &mapTables{captures: captures, variables: []hook{&valueHook{pl: in}}}
	defer func() { disposeAll(t.variables) }()
	e := &evaluator{s: prog.s, in: t, keep: true, prog: prog, budget: prog.budget, charge: prog.charge}
	last := len(prog.instructions) - 1
	for _, raw := range prog.instructions[:last] {
		h, err := e.hook(raw)
		if err != nil {
			return err
		}
		t.variables = append(t.variables, h)
	}
	before := len(pl.slots)
	if err := e.eval(pl, at, prog.instructions[last], 0); err != nil {
		return err
	}
	return failed(pl.slots[before:])
}

// mapTables is the private table of one element.
type mapTables struct {
	captures, variables []hook
}

func (t *mapTables) exported(id int64) (hook, bool) {
	if id < 0 {
		if id = -id - 1; id < int64(len(t.captures)) {
			return t.captures[id], true
		}
		return nil, false
	}
	if id < int64(len(t.variables)) {
		return t.variables[id], true
	}
	return nil, false
}

func (t *mapTables) importStub(int64) (hook, error)    { return nil, errMapUse }
func (t *mapTables) importPromise(int64) (hook, error) { return nil, errMapUse }
func (t *mapTables) takePipe(int64) (*Stream, error)   { return nil, errMapUse }
