package capnweb

import (
	"math/big"
	"sync"
)

// payload is a value on its way, with the stubs and promises inside it. Unless borrowed it
// owns them.
type payload struct {
	value    any
	borrowed bool // value, stubs and promises are the application's
	stubs    []*Stub
	slots    []slot
	held     []interface{ release() } // streams

	mu       sync.Mutex // guards the cells of slots and what follows
	waiting  []func(error)
	started  bool
	finished bool
	err      error
}

// slot is a promise inside a value and the cell its resolution goes to.
type slot struct {
	promise *Promise
	at      *any
}

const errCycle = "Serialization exceeded maximum allowed depth. (Does the message contain cycles?)"

// adopt takes over a value returned by the application: stubs and promises inside become
// the payload's, containers are copied so that the application may go on using them.
func adopt(v any) (*payload, error) {
	pl := &payload{}
	err := pl.copyInto(&pl.value, v, false, 0)
	if err != nil {
		pl.dispose()
	}
	return pl, err
}

// own makes a borrowed payload independent of the application: stubs are duplicated.
func (pl *payload) own() error {
	if !pl.borrowed {
		return nil
	}
	pl.borrowed = false
	v := pl.value
	pl.value = nil
	err := pl.copyInto(&pl.value, v, true, 0)
	if err != nil {
		pl.dispose()
	}
	return err
}

// plain tells that the value holds no capability, so that it may be shared.
func (pl *payload) plain() bool {
	return len(pl.stubs) == 0 && len(pl.slots) == 0 && len(pl.held) == 0
}

// copyOf duplicates (part of) another payload's value; a plain one is shared, as nobody may
// change it.
func copyOf(v any, plain bool) (*payload, error) {
	if plain {
		return &payload{value: v}, nil
	}
	pl := &payload{}
	err := pl.copyInto(&pl.value, v, true, 0)
	if err != nil {
		pl.dispose()
	}
	return pl, err
}

func (pl *payload) copyInto(at *any, v any, dup bool, depth int) error {
	if depth > defaultMaxDepth {
		return plainError(errCycle)
	}
	switch v := v.(type) {
	case nil, bool, string, float64, Undefined, *big.Int, Date, []byte, TypedArray, URL, Headers:
		*at = v
	case []any:
		out := make([]any, len(v))
		*at = out
		for i := range v {
			if err := pl.copyInto(&out[i], v[i], dup, depth+1); err != nil {
				return err
			}
		}
	case Object:
		out, err := pl.copyObject(v, dup, depth)
		*at = out
		return err
	case *Error:
		if v == nil {
			return nil
		}
		e := *v
		*at = &e
		props, err := pl.copyObject(v.Props, dup, depth)
		e.Props = props
		return err
	case *Stub:
		pl.addStub(at, v, dup)
	case *Promise:
		pl.addPromise(at, v, dup)
	default:
		if pl.copyStream(at, v, dup) {
			return nil
		}
		c, ok := canonical(v)
		if !ok {
			return typeError("Cannot serialize value: a type that RPC does not carry")
		}
		if s, ok := c.(*Stub); ok {
			pl.addStub(at, s, false)
			return nil
		}
		return pl.copyInto(at, c, dup, depth)
	}
	return nil
}

func (pl *payload) copyObject(v Object, dup bool, depth int) (Object, error) {
	if v == nil {
		return nil, nil
	}
	out := make(Object, len(v))
	for i := range v {
		out[i].Key = v[i].Key
		if err := pl.copyInto(&out[i].Value, v[i].Value, dup, depth+1); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (pl *payload) addStub(at *any, s *Stub, dup bool) {
	if s == nil {
		return
	}
	if dup {
		s = s.Dup()
	}
	*at = s
	pl.stubs = append(pl.stubs, s)
}

func (pl *payload) addPromise(at *any, p *Promise, dup bool) {
	if p == nil {
		return
	}
	if dup {
		p = promiseOf(p.hook().get(nil, nil))
	}
	*at = p
	pl.slots = append(pl.slots, slot{p, at})
}

// snapshot returns a value that delivery does not change under the reader.
func (pl *payload) snapshot() any {
	if len(pl.slots) == 0 {
		return pl.value
	}
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return cloneContainers(pl.value)
}

func cloneContainers(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = cloneContainers(v[i])
		}
		return out
	case Object:
		out := make(Object, len(v))
		for i := range v {
			out[i] = Field{v[i].Key, cloneContainers(v[i].Value)}
		}
		return out
	case *Error:
		e := *v
		if v.Props != nil {
			e.Props = cloneContainers(v.Props).(Object)
		}
		return &e
	}
	return v
}

// deliver calls fn once, when every promise inside is substituted or one has failed.
func (pl *payload) deliver(fn func(error)) {
	if len(pl.slots) == 0 {
		fn(nil)
		return
	}
	pl.mu.Lock()
	if pl.finished {
		err := pl.err
		pl.mu.Unlock()
		fn(err)
		return
	}
	pl.waiting = append(pl.waiting, fn)
	start := !pl.started
	pl.started = true
	pl.mu.Unlock()
	if start {
		pl.substitute()
	}
}

func (pl *payload) substitute() {
	left := len(pl.slots)
	for i := range pl.slots {
		s := pl.slots[i]
		s.promise.hook().pull(func(inner *payload, err error) {
			if err != nil {
				pl.finish(err)
				return
			}
			inner.deliver(func(err error) {
				if err != nil {
					pl.finish(err)
					return
				}
				pl.mu.Lock()
				*s.at = inner.value
				left--
				last := left == 0
				pl.mu.Unlock()
				if last {
					pl.finish(nil)
				}
			})
		})
	}
}

func (pl *payload) finish(err error) {
	pl.mu.Lock()
	if pl.finished {
		pl.mu.Unlock()
		return
	}
	pl.finished, pl.err = true, err
	waiting := pl.waiting
	pl.waiting = nil
	pl.mu.Unlock()
	for _, fn := range waiting {
		fn(err)
	}
}

// dispose drops every stub and promise the payload owns; again is harmless.
func (pl *payload) dispose() {
	if pl.borrowed {
		return
	}
	for _, s := range pl.stubs {
		s.Dispose()
	}
	for _, s := range pl.slots {
		s.promise.Dispose()
	}
	for _, h := range pl.held {
		h.release()
	}
}

// DisposeValue disposes every stub and promise inside a value.
func DisposeValue(v any) {
	switch v := v.(type) {
	case *Stub:
		v.Dispose()
	case *Promise:
		v.Dispose()
	case []any:
		for _, e := range v {
			DisposeValue(e)
		}
	case Object:
		for _, f := range v {
			DisposeValue(f.Value)
		}
	case map[string]any:
		for _, e := range v {
			DisposeValue(e)
		}
	case *Error:
		DisposeValue(v.Props)
	case *Stream:
		v.Cancel(nil)
	case *Writer:
		v.release()
	}
}
