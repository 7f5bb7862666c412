package capnweb

import (
	"context"
	"math/big"
	"sync"
	"sync/atomic"
)

// payload is a value on its way, with the stubs and promises inside it. Unless borrowed it
// owns them.
type payload struct {
	value    any
	borrowed bool // value, stubs and promises are the application's
	stubs    []*Stub
	slots    []slot
	held     []interface{ release() } // streams

	parent   *valueHook             // whose value this is a part of
	charge   atomic.Pointer[charge] // of the message it came in
	refs     atomic.Int64           // holders of the value hook besides the first; see share
	level    int                    // promises to go through to reach what is innermost
	indexing sync.Mutex
	indexes  map[*Field]map[string]int // of large objects

	mu       sync.Mutex // guards the cells of slots and what follows
	waiting  []func(error)
	started  bool
	finished bool
	err      error
	size     int  // estimated, with what was substituted
	foreign  bool // stubs were substituted that have other holders
}

// taken marks a value whose stubs are the application's, to be disposed one by one: it is
// copied from then on.
const taken = 1 << 40

// share adds a holder; false if the value must be copied or is gone.
func (pl *payload) share() bool {
	for {
		n := pl.refs.Load()
		if n < 0 || n >= taken && !pl.plain() {
			return false
		}
		if pl.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// drop takes a holder away and tells whether it was the last.
func (pl *payload) drop() bool {
	n := pl.refs.Add(-1)
	if n == taken-1 {
		pl.refs.Store(-1)
	}
	return n == -1 || n == taken-1
}

// take gives the stubs inside to the application; false if there are other holders.
func (pl *payload) take() bool {
	return pl.refs.Load() >= taken || pl.refs.CompareAndSwap(0, taken)
}

// capable tells that stubs or streams are in the value, not counting promises.
func (pl *payload) capable() bool { return len(pl.stubs) > 0 || len(pl.held) > 0 }

// budgetKey finds the budget of the session a call came from in its ctx.
type budgetKey struct{}

// copyFor copies v for the session a request came from, and charges it.
func copyFor(ctx context.Context, v any) (*payload, error) {
	if ctx == nil {
		return copyOf(v, false)
	}
	b, ok := ctx.Value(budgetKey{}).(*budget)
	if !ok {
		return copyOf(v, false)
	}
	c, err := b.charge(sizeOf(v, 0))
	if err != nil {
		return nil, plainError(err.Error())
	}
	pl, err := copyOf(v, false)
	if err != nil {
		c.release()
		return nil, err
	}
	pl.charge.Store(c)
	return pl, nil
}

func (pl *payload) addSlot(p *Promise, at *any) {
	pl.slots = append(pl.slots, slot{p, at})
	if v, ok := through(p.hook()).(*valueHook); ok {
		pl.level = max(pl.level, v.pl.level+1)
	}
}

// slot is a promise inside a value and the cell its resolution goes to.
type slot struct {
	promise *Promise
	at      *any
}

const textTooLarge = "the value is too large once its promises are substituted"

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
	pl.addSlot(p, at)
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
	pl.mu.Lock()
	pl.size = sizeOf(pl.value, 0)
	pl.mu.Unlock()
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
				size := inner.weight()
				foreign := inner.foreign || inner.capable() && !inner.take()
				pl.mu.Lock()
				if pl.size += size; pl.size > maxValue {
					pl.mu.Unlock()
					pl.finish(plainError(textTooLarge))
					return
				}
				if err := pl.charge.Load().add(size); err != nil {
					pl.mu.Unlock()
					pl.finish(plainError(err.Error()))
					return
				}
				pl.foreign = pl.foreign || foreign
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

// weight estimates the size of a delivered value.
func (pl *payload) weight() int {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if pl.size == 0 {
		pl.size = sizeOf(pl.value, 0)
	}
	return pl.size
}

// detach makes a delivered value independent of the other holders of the stubs inside.
func (pl *payload) detach() error {
	if !pl.foreign {
		return nil
	}
	pl.foreign = false
	if err := pl.charge.Load().add(pl.weight()); err != nil {
		return plainError(err.Error())
	}
	v := pl.value
	return pl.copyInto(&pl.value, v, true, 0)
}

// handOut is the delivered value for the application, which may dispose the stubs inside one
// by one: the payload itself, or a copy if there are other holders.
func (pl *payload) handOut() (*payload, error) {
	switch {
	case pl.plain():
		return pl, nil
	case pl.take():
		return pl, pl.detach()
	}
	own, err := copyOf(pl.value, false)
	if err == nil {
		own.refs.Store(taken)
	}
	return own, err
}

// uncharge ends the counting of a value that is the application's now. What was substituted
// in it is let go, unless stubs in it are the application's too.
func (pl *payload) uncharge() {
	pl.charge.Swap(nil).release()
	for _, s := range pl.slots {
		if v, ok := through(s.promise.hook()).(*valueHook); ok && v.pl.refs.Load() >= taken {
			v.pl.uncharge()
		} else {
			s.promise.Dispose()
		}
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
	if pl.parent != nil {
		pl.parent.dispose()
	}
	pl.charge.Swap(nil).release()
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
