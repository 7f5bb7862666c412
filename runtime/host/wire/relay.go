package wire

import (
	"sync/atomic"
	"time"
)

// Relay lets the one goroutine that reads a link deal with what it reads by itself, which saves waking another, and still
// never keeps the link waiting: what takes longer than it should gives the reading away to a new goroutine.
type Relay struct {
	run  func()        // reads on, in a goroutine of its own
	turn uint64        // counts Do; owned by the reader
	at   atomic.Uint64 // the turn that Do is in; 0: none, or its reading was given away

	patience time.Duration // 0: the reader gives away by itself
	watch    *time.Timer
	watching atomic.Bool // the timer is set
	active   atomic.Bool // there was a turn since the timer last struck
	last     uint64      // the turn that it found
}

// NewRelay returns a relay; run is the reader's loop, which ends when Do gives false. A turn that keeps the reader for one
// to two times the patience gives the reading away; without patience only GiveAway does.
func NewRelay(run func(), patience time.Duration) *Relay {
	r := &Relay{run: run, patience: patience}
	if patience > 0 {
		r.watch = time.AfterFunc(patience, r.look)
		r.watch.Stop()
	}
	return r
}

// Do deals with something on the reader's goroutine. When it gives false, somebody else reads: the caller must not touch
// the link again.
func (r *Relay) Do(deal func()) bool {
	r.turn++
	at := r.turn
	r.at.Store(at)
	if r.patience > 0 {
		r.active.Store(true)
		r.keepWatch()
	}
	deal()
	return r.at.CompareAndSwap(at, 0)
}

// Doing returns the number of the turn that keeps the reader, 0 if none does.
func (r *Relay) Doing() uint64 { return r.at.Load() }

// GiveAway starts another reader if the given turn still keeps the present one, and tells whether it did.
func (r *Relay) GiveAway(turn uint64) bool {
	given := turn != 0 && r.at.CompareAndSwap(turn, 0)
	if given {
		go r.run()
	}
	return given
}

// keepWatch sets the timer unless it is set: a timer for each turn would cost more than most turns do.
func (r *Relay) keepWatch() {
	if !r.watching.Load() && r.watching.CompareAndSwap(false, true) {
		r.watch.Reset(r.patience)
	}
}

// look gives the reading away if the turn is the one of the last look, and stops looking when there are no turns.
func (r *Relay) look() {
	turn := r.Doing()
	if turn == r.last {
		r.GiveAway(turn)
	}
	r.last = turn
	if r.active.Swap(false) || r.Doing() != 0 {
		r.watch.Reset(r.patience)
		return
	}
	if r.watching.Store(false); r.active.Load() { // a turn began that took the timer for set
		r.keepWatch()
	}
}
