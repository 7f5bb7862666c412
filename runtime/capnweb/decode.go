package capnweb

import (
	"fmt"
	"math"
	"sync/atomic"
)

const (
	errBadMessage   = protocolError("bad RPC message")
	errBadValue     = protocolError("bad RPC message: unknown special value")
	errBadPath      = protocolError("bad RPC message: a path must be a list of names and indexes")
	errLongPath     = protocolError("bad RPC message: a path is too long")
	errTooMuchWork  = protocolError("bad RPC message: it asks for too much work")
	errHops         = protocolError("bad RPC message: promises are nested too deeply")
	errBadId        = protocolError("bad RPC message: an id must be a whole number")
	errNoExport     = protocolError("no such entry on exports table")
	errDepth        = protocolError("Deserialization exceeded maximum allowed message depth")
	errBigInt       = protocolError("Deserialized bigint exceeds maximum length of 16384 digits")
	errBytes        = protocolError("bad RPC message: invalid bytes")
	errReused       = protocolError("bad RPC message: a promise reuses an id")
	errMapUse       = protocolError("A mapper function cannot refer to exports")
	errMapEmpty     = protocolError("Invalid empty mapper function.")
	errMapTooLarge  = protocolError("map() evaluates too many values")
	errRefused      = "Request and Response objects are not supported by this peer"
	errPipeConsumed = protocolError("bad RPC message: not a pipe, or its readable end was already consumed")
)

// tables is where an evaluator looks ids up: a session, or one run of a map().
type tables interface {
	exported(id int64) (hook, bool)
	importStub(id int64) (hook, error)
	importPromise(id int64) (hook, error)
	takePipe(id int64) (*Stream, error)
}

// evaluator turns a parsed expression into a value; calls inside it are entered as they are
// met, in order. Unless keep is set it overwrites the parsed tree.
type evaluator struct {
	s      *Session
	in     tables
	keep   bool
	hops   int           // of the promise whose resolution this is
	work   int           // spent on following paths
	charge *charge       // of the message
	prog   *mapProgram   // the map() that is run, if any
	budget *atomic.Int64 // steps left to the map()s of this message
}

// step charges a map() for one evaluation.
func (e *evaluator) step() error {
	if e.prog == nil {
		return nil
	}
	return e.prog.spend(1)
}

// follow charges for looking up what h and path lead to, and for copying it.
func (e *evaluator) follow(h hook, path []any, whole bool) error {
	n := 0
	if v, ok := through(h).(*valueHook); ok {
		n = v.weight(path, whole)
	}
	if e.prog != nil {
		return e.prog.spend(1 + len(path) + n)
	}
	if e.work += n; e.work > maxWork {
		return errTooMuchWork
	}
	return nil
}

// newPayload starts a value made of the message.
func (e *evaluator) newPayload() *payload {
	pl := &payload{}
	pl.charge.Store(e.charge.retain())
	return pl
}

// payload evaluates an expression of its own.
func (e *evaluator) payload(raw any) (*payload, error) {
	pl := e.newPayload()
	if err := e.eval(pl, &pl.value, raw, 0); err != nil {
		pl.dispose()
		return nil, err
	}
	return pl, nil
}

// hook evaluates an expression to something that can be called; a plain call gives its own
// result.
func (e *evaluator) hook(raw any) (hook, error) {
	if l, ok := raw.([]any); ok && len(l) > 1 {
		switch l[0] {
		case "pipeline":
			return e.reference(l, 0)
		case "remap":
			return e.remap(l)
		}
	}
	pl, err := e.payload(raw)
	if err != nil {
		return nil, err
	}
	return &valueHook{pl: pl}, nil
}

func (e *evaluator) eval(pl *payload, at *any, raw any, depth int) error {
	if depth >= e.s.opts.MaxDepth {
		return errDepth
	}
	if err := e.step(); err != nil {
		return err
	}
	switch raw := raw.(type) {
	case []any:
		if len(raw) == 1 {
			if inner, ok := raw[0].([]any); ok {
				return e.list(pl, at, inner, depth)
			}
		}
		return e.special(pl, at, raw, depth)
	case Object:
		return e.object(pl, at, raw, depth)
	}
	*at = raw
	return nil
}

func (e *evaluator) list(pl *payload, at *any, raw []any, depth int) error {
	out := raw
	if e.keep {
		out = make([]any, len(raw))
	}
	*at = out
	for i := range raw {
		if err := e.eval(pl, &out[i], raw[i], depth+1); err != nil {
			return err
		}
	}
	return nil
}

// object drops the reserved keys but evaluates their values, so that stubs inside are
// released and calls inside are made.
func (e *evaluator) object(pl *payload, at *any, raw Object, depth int) error {
	out := make(Object, 0, len(raw))
	for i := range raw {
		if reservedKeys[raw[i].Key] {
			var dropped any
			if err := e.eval(pl, &dropped, raw[i].Value, depth+1); err != nil {
				return err
			}
			continue
		}
		out = append(out, Field{Key: raw[i].Key})
		if err := e.eval(pl, &out[len(out)-1].Value, raw[i].Value, depth+1); err != nil {
			return err
		}
	}
	*at = out
	return nil
}

func (e *evaluator) special(pl *payload, at *any, l []any, depth int) error {
	if len(l) == 0 {
		return errBadValue
	}
	kind, _ := l[0].(string)
	if done, err := e.capability(pl, at, kind, l, depth); done {
		return err
	}
	v, err := plainValue(kind, l)
	if err != nil {
		return err
	}
	if v != nil {
		*at = v
		return nil
	}
	if kind == "error" {
		return e.errorValue(pl, at, l, depth)
	}
	return errBadValue
}

// capability evaluates the forms that touch the tables.
func (e *evaluator) capability(pl *payload, at *any, kind string, l []any, depth int) (bool, error) {
	switch kind {
	case "pipeline":
		h, err := e.reference(l, depth)
		if err != nil {
			return true, err
		}
		return true, e.putPromise(pl, at, h)
	case "import":
		h, err := e.reference(l, depth)
		if err == nil {
			pl.putStub(at, h)
		}
		return true, err
	case "remap":
		h, err := e.remap(l)
		if err != nil {
			return true, err
		}
		return true, e.putPromise(pl, at, h)
	case "export", "promise", "writable", "readable":
		if len(l) != 2 {
			return true, errBadValue
		}
		id, err := wholeNumber(l[1])
		if err != nil {
			return true, err
		}
		return true, e.introduce(pl, at, kind, id)
	case "blob":
		return true, e.blob(pl, at, l)
	case "request", "response":
		return true, e.refuse(pl, at, l, depth)
	}
	return false, nil
}

func (pl *payload) putStub(at *any, h hook) {
	s := &Stub{h: h}
	*at = s
	pl.stubs = append(pl.stubs, s)
}

func (pl *payload) putPromise(at *any, h hook) {
	p := promiseOf(h)
	*at = p
	pl.addSlot(p, at)
}

// putPromise bounds how deep values lie in promises inside values.
func (e *evaluator) putPromise(pl *payload, at *any, h hook) error {
	pl.putPromise(at, h)
	if pl.level > maxHops {
		return errHops
	}
	return e.charge.add(costCapability)
}

// introduce evaluates the forms by which a peer lends something.
func (e *evaluator) introduce(pl *payload, at *any, kind string, id int64) error {
	if err := e.charge.add(costCapability); err != nil {
		return err
	}
	if kind == "readable" {
		st, err := e.in.takePipe(id)
		if err == nil {
			pl.putStream(at, st)
		}
		return err
	}
	if kind == "promise" {
		if e.hops >= maxHops {
			return errHops
		}
		h, err := e.in.importPromise(id)
		if err != nil {
			return err
		}
		if entry, ok := h.(*importEntry); ok {
			entry.hops = e.hops + 1
		}
		pl.putPromise(at, h)
		return nil
	}
	h, err := e.in.importStub(id)
	if err != nil {
		return err
	}
	if kind == "writable" {
		pl.putWriter(at, h)
		return nil
	}
	pl.putStub(at, h)
	return nil
}

// refuse evaluates the parts of a value this peer cannot build, and puts a failed promise in
// its place: what contains it fails, the session goes on.
func (e *evaluator) refuse(pl *payload, at *any, l []any, depth int) error {
	if len(l) != 3 {
		return errBadValue
	}
	body := l[1]
	if l[0] == "request" {
		init, ok := l[2].(Object)
		if !ok {
			return errBadValue
		}
		body, _ = init.Get("body")
	}
	var dropped any
	if err := e.eval(pl, &dropped, body, depth+1); err != nil {
		return err
	}
	return e.putPromise(pl, at, &errorHook{typeError(errRefused)})
}

func wholeNumber(v any) (int64, error) {
	f, ok := v.(float64)
	if !ok || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, errBadId
	}
	return int64(f), nil
}

func parsePath(v any) ([]any, error) {
	l, ok := v.([]any)
	if !ok {
		return nil, errBadPath
	}
	if len(l) > maxPathParts {
		return nil, errLongPath
	}
	out := make([]any, len(l))
	size := 0
	for i := range l {
		switch p := l[i].(type) {
		case string:
			if size += len(p); size > maxPathBytes {
				return nil, errLongPath
			}
			out[i] = p
		case float64:
			if p != math.Trunc(p) || math.Abs(p) > 1<<31 {
				return nil, errBadPath
			}
			out[i] = int(p)
		default:
			return nil, errBadPath
		}
	}
	return out, nil
}

// path is the third part of an expression; a map() parses it once for all elements.
func (e *evaluator) path(l []any) ([]any, error) {
	if e.prog == nil {
		return parsePath(l[2])
	}
	path, ok := e.prog.paths[&l[0]]
	if !ok {
		var err error
		if path, err = parsePath(l[2]); err != nil {
			return nil, err
		}
		if e.prog.paths == nil {
			e.prog.paths = map[*any][]any{}
		}
		e.prog.paths[&l[0]] = path
	}
	return path, nil
}

// reference evaluates ["import"|"pipeline", id, path?, args?] to a new hook.
func (e *evaluator) reference(l []any, depth int) (hook, error) {
	if len(l) < 2 || len(l) > 4 {
		return nil, errBadValue
	}
	id, err := wholeNumber(l[1])
	if err != nil {
		return nil, err
	}
	h, ok := e.in.exported(id)
	if !ok {
		return nil, fmt.Errorf("%w: %d", errNoExport, id)
	}
	if len(l) == 2 {
		if err := e.follow(h, nil, false); err != nil {
			return nil, err
		}
		if l[0] == "import" {
			return h.dup(), nil
		}
		return h.get(e.s.ctx, nil), nil
	}
	path, err := e.path(l)
	if err != nil {
		return nil, err
	}
	if err := e.follow(h, path, false); err != nil {
		return nil, err
	}
	if len(l) == 3 {
		return h.get(e.s.ctx, path), nil
	}
	raw, ok := l[3].([]any)
	if !ok {
		return nil, errBadValue
	}
	args := e.newPayload()
	if err := e.list(args, &args.value, raw, depth); err != nil {
		args.dispose()
		return nil, err
	}
	return h.call(e.s.ctx, path, args), nil
}

func (e *evaluator) remap(l []any) (hook, error) {
	if len(l) != 5 {
		return nil, errBadValue
	}
	id, err := wholeNumber(l[1])
	if err != nil {
		return nil, err
	}
	path, err := e.path(l)
	if err != nil {
		return nil, err
	}
	rawCaptures, ok1 := l[3].([]any)
	program, ok2 := l[4].([]any)
	if !ok1 || !ok2 {
		return nil, errBadValue
	}
	h, ok := e.in.exported(id)
	if !ok {
		return nil, fmt.Errorf("%w: %d", errNoExport, id)
	}
	if err := e.follow(h, path, true); err != nil {
		return nil, err
	}
	captures := make([]hook, 0, len(rawCaptures))
	for _, raw := range rawCaptures {
		c, err := e.capture(raw)
		if err != nil {
			disposeAll(captures)
			return nil, err
		}
		captures = append(captures, c)
	}
	if e.budget == nil {
		e.budget = &atomic.Int64{}
		e.budget.Store(int64(e.s.opts.MaxMap))
	}
	prog := &mapProgram{s: e.s, instructions: program, budget: e.budget, charge: e.charge}
	return h.remap(path, captures, prog), nil
}

func (e *evaluator) capture(raw any) (hook, error) {
	l, ok := raw.([]any)
	if !ok || len(l) != 2 {
		return nil, errBadValue
	}
	id, err := wholeNumber(l[1])
	if err != nil {
		return nil, err
	}
	switch l[0] {
	case "export":
		return e.in.importStub(id)
	case "import":
		h, ok := e.in.exported(id)
		if !ok {
			return nil, fmt.Errorf("%w: %d", errNoExport, id)
		}
		if err := e.follow(h, nil, false); err != nil {
			return nil, err
		}
		return h.dup(), nil
	}
	return nil, errBadValue
}
