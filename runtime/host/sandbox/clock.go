package sandbox

import (
	"fmt"
	"runtime"
	"time"

	"toolshed/runtime/host/wire"
)

// turnClock counts the time that the guest itself runs. Waiting moves both deadlines.
type turnClock struct {
	soft, hard  time.Time
	limit       time.Duration // what a turn may run; the deadlines move, this does not
	patience    time.Duration // what a turn may still wait for the kernel with the clock standing still
	interrupted bool          // the soft deadline has struck
}

// tooLong says that a turn passed its limit, and names the limit.
func (t *turnClock) tooLong() string {
	return fmt.Sprintf("it used more than the %v of CPU time that one turn may use", t.limit)
}

// begin starts the clock of a turn.
func (v *vm) begin(soft, hard time.Duration) {
	now := time.Now()
	v.turn = turnClock{soft: now.Add(soft), hard: now.Add(hard), limit: min(soft, hard), patience: patience * hard}
}

// patience is how many times its hard deadline a turn may wait for the kernel; with the time that it runs, a turn that
// keeps asking lasts four times its hard deadline at most.
const patience = 3

// waited gives back time that the guest waited for the kernel, but not what the kernel did for it meanwhile, and only
// so much of it in one turn.
func (t *turnClock) waited(d, cost time.Duration) {
	d = min(max(0, d-cost), t.patience)
	t.patience -= d
	t.pause(d)
}

// pause gives back time that the guest did not run.
func (t *turnClock) pause(d time.Duration) {
	t.soft, t.hard = t.soft.Add(d), t.hard.Add(d)
}

// tick is called by the guest whenever its fuel runs out. It lets every other goroutine go first.
func (v *vm) tick(st []uint64) {
	st[0] = 0
	if v.halt.Load() != nil {
		st[0] = 1
		return
	}
	if v.turn.hard.IsZero() {
		return
	}
	now := time.Now()
	if now.After(v.turn.hard) {
		v.halt.CompareAndSwap(nil, wire.Fail(wire.KindCPU, v.turn.tooLong()))
		st[0] = 1
		return
	}
	runtime.Gosched()
	v.turn.pause(time.Since(now))
}

// interrupt is the engine's own question whether to go on.
func (v *vm) interrupt(st []uint64) {
	st[0] = 0
	if !v.turn.soft.IsZero() && time.Now().After(v.turn.soft) {
		v.turn.interrupted = true
		st[0] = 1
	}
}
