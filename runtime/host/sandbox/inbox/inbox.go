// Package inbox holds the messages of one instance between the goroutine that reads them off the link and the one that
// owns the instance. While the owner waits, the reader may borrow the instance and deal with a message itself: to wake
// another goroutine costs more than most messages do.
package inbox

import (
	"sync"
	"time"

	"toolshed/runtime/host/wire"
)

// Inbox is made by New. Push, Acked, Ask, Stop, Borrow and Return are for the reader and block for nobody; Take, Told and
// Wait are for the owner; Told is also for the borrower.
type Inbox struct {
	mu       sync.Mutex
	back     sync.Cond // signalled when what was borrowed is back
	messages [][]byte
	taken    uint64
	bytes    int    // of turns that the kernel is not done with
	turns    int    // of the same
	quiet    uint64 // the number of a wire.Quiet that waits for its answer; 0: none
	waiting  bool   // the owner does nothing: the instance may be borrowed
	borrowed bool
	stopping bool

	wakeup  chan struct{}
	stopped chan struct{}
}

// New returns an empty inbox.
func New() *Inbox {
	b := &Inbox{wakeup: make(chan struct{}, 1), stopped: make(chan struct{})}
	b.back.L = &b.mu
	return b
}

// freeLocked tells whether the kernel is near enough behind for another turn.
func (b *Inbox) freeLocked() bool { return b.bytes < wire.MaxUnacked && b.turns < wire.MaxUnackedN }

// wakeLocked wakes the owner; who has borrowed does that when returning.
func (b *Inbox) wakeLocked() {
	if !b.borrowed {
		wire.Signal(b.wakeup)
	}
}

// Push adds a message.
func (b *Inbox) Push(message []byte) {
	b.mu.Lock()
	b.messages = append(b.messages, message)
	b.wakeLocked()
	b.mu.Unlock()
}

// Acked says that the kernel is done with turns of so many bytes.
func (b *Inbox) Acked(bytes, turns int) {
	b.mu.Lock()
	was := b.freeLocked()
	b.bytes -= bytes
	b.turns -= turns
	if !was {
		b.wakeLocked()
	}
	b.mu.Unlock()
}

// Told says that a turn of so many bytes was sent to the kernel.
func (b *Inbox) Told(bytes int) {
	b.mu.Lock()
	b.bytes += bytes
	b.turns++
	b.mu.Unlock()
}

// Ask leaves the number of a wire.Quiet for the owner, who answers once there is nothing to do.
func (b *Inbox) Ask(number uint64) {
	b.mu.Lock()
	b.quiet = number
	b.wakeLocked()
	b.mu.Unlock()
}

// Stop ends every wait; it tells whether it was the first to do so.
func (b *Inbox) Stop() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopping {
		return false
	}
	b.stopping = true
	close(b.stopped)
	return true
}

// Stopped is closed by Stop.
func (b *Inbox) Stopped() <-chan struct{} { return b.stopped }

// Borrow lends the instance for a message that no other stands before, if its owner waits and the kernel keeps up. Whoever
// gets true deals with the message as the owner would, and then calls Return.
func (b *Inbox) Borrow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.waiting || b.borrowed || b.stopping || b.quiet != 0 || len(b.messages) > 0 || !b.freeLocked() {
		return false
	}
	b.borrowed = true
	b.taken++
	return true
}

// Return gives the instance back; wake says that the owner has something to do, and lends nothing more before.
func (b *Inbox) Return(wake bool) {
	b.mu.Lock()
	b.borrowed = false
	if wake || len(b.messages) > 0 || b.quiet != 0 {
		b.waiting = false
		b.wakeLocked()
	}
	b.back.Broadcast()
	b.mu.Unlock()
}

// Todo is what an owner finds.
type Todo struct {
	Message []byte // nil: none, or the kernel is too far behind
	Free    bool   // the kernel is not too far behind for a turn
	Quiet   uint64 // the number of a wire.Quiet to answer if there is no message; 0: none
	Taken   uint64 // messages since the start
}

// Take takes what there is to do.
func (b *Inbox) Take() Todo {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := Todo{Free: b.freeLocked()}
	if t.Free && len(b.messages) > 0 {
		t.Message = b.messages[0]
		b.messages[0] = nil
		if b.messages = b.messages[1:]; len(b.messages) == 0 {
			b.messages = nil
		}
		b.taken++
	} else {
		t.Quiet, b.quiet = b.quiet, 0
	}
	t.Taken = b.taken
	return t
}

// Wait returns when there may be something to take, at a time (the zero time: never), or when the inbox is stopped, which
// gives false. Meanwhile the instance may be borrowed; when Wait returns it is back.
func (b *Inbox) Wait(until time.Time) bool {
	var due <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		due = t.C
	}
	b.mu.Lock()
	b.waiting = true
	b.mu.Unlock()
	select {
	case <-b.wakeup:
	case <-b.stopped:
	case <-due:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = false
	for b.borrowed {
		b.back.Wait()
	}
	return !b.stopping
}
