package wire

import "sync/atomic"

// Relay lets the one goroutine that reads a link deal with what it reads by itself, which saves waking another, and still
// never keeps the link waiting: what takes longer than it should gives the reading away to a new goroutine.
type Relay struct {
	run  func()        // reads on, in a goroutine of its own
	turn uint64        // counts Do; owned by the reader
	at   atomic.Uint64 // the turn that Do is in; 0: none, or its reading was given away
}

// NewRelay returns a relay; run is the reader's loop, which ends when Do gives false.
func NewRelay(run func()) *Relay { return &Relay{run: run} }

// Do deals with something on the reader's goroutine. When it gives false, somebody else reads: the caller must not touch
// the link again.
func (r *Relay) Do(deal func()) bool {
	r.turn++
	at := r.turn
	r.at.Store(at)
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
