package capnweb

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	costMessage    = 256     // what one kept message costs besides its text
	costCapability = 512     // a stub, promise or stream inside a value
	costMapValue   = 32      // one value that a map() evaluates
	quietError     = 4 << 10 // errors up to this size are not counted
)

// budget counts the bytes a session holds for its peer: parsed messages and the values made
// of them, buffers of streams and blobs.
type budget struct {
	max  int64
	held atomic.Int64
}

func (b *budget) take(n int) bool {
	if b.held.Add(int64(n)) > b.max {
		b.held.Add(-int64(n))
		return false
	}
	return true
}

// room is what may still be taken.
func (b *budget) room() int { return int(max(0, b.max-b.held.Load())) }

// charge is what one message takes of the budget. It is given back when the last value made
// of the message is gone. A nil charge counts nothing.
type charge struct {
	b    *budget
	mu   sync.Mutex
	n    int
	refs int
}

// charge takes n for one holder.
func (b *budget) charge(n int) (*charge, error) {
	if !b.take(n) {
		return nil, errTooMuchHeld
	}
	return &charge{b: b, n: n, refs: 1}, nil
}

// add makes the charge larger.
func (c *charge) add(n int) error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refs <= 0 {
		return nil
	}
	if !c.b.take(n) {
		return errTooMuchHeld
	}
	c.n += n
	return nil
}

func (c *charge) size() int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// chargeResult counts the result of a method until the caller has released it. It is counted
// even above the limit: then the caller's next call ends the session.
func chargeResult(ctx context.Context, h hook) {
	v, ok := h.(*valueHook)
	b, _ := ctx.Value(budgetKey{}).(*budget)
	if !ok || b == nil {
		return
	}
	n := v.pl.weight()
	if n <= costMessage {
		return
	}
	b.held.Add(int64(n))
	if c := (&charge{b: b, n: n, refs: 1}); !v.pl.charge.CompareAndSwap(nil, c) {
		c.release()
	}
}

// retain adds a holder.
func (c *charge) retain() *charge {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refs <= 0 {
		return nil
	}
	c.refs++
	return c
}

// release takes a holder away.
func (c *charge) release() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refs--; c.refs == 0 {
		c.b.held.Add(-int64(c.n))
	}
}

// chargeError counts an error thrown by a peer as long as anybody has it: errors are shared
// freely and never disposed.
func chargeError(err error, c *charge) {
	if c.size() <= quietError {
		return
	}
	free := func(c *charge) { c.release() }
	switch err := err.(type) {
	case *Error:
		runtime.AddCleanup(err, free, c.retain())
	case *Thrown:
		runtime.AddCleanup(err, free, c.retain())
	}
}
