package sandbox

import (
	"runtime"
	"time"

	"toolshed/runtime/host/wire"
)

// lasting gives the link to another reader, if it is the reader who runs this turn.
func (v *vm) lasting() {
	if v.lasts != nil {
		v.lasts()
		v.lasts = nil
	}
}

// tick is called by the guest whenever its fuel runs out. It lets every other goroutine go first.
func (v *vm) tick(st []uint64) {
	st[0] = 0
	if v.halt.Load() != nil {
		st[0] = 1
		return
	}
	if !v.turn.Running() {
		return
	}
	now := time.Now()
	if v.turn.Over(now) {
		v.halt.CompareAndSwap(nil, wire.Fail(wire.KindCPU, v.turn.TooLong()))
		st[0] = 1
		return
	}
	if v.turn.Lasts(now) {
		v.lasting()
	}
	runtime.Gosched()
	v.turn.Pause(time.Since(now))
}

// interrupt is the engine's own question whether to go on.
func (v *vm) interrupt(st []uint64) {
	st[0] = 0
	if v.turn.Struck(time.Now()) {
		v.turn.Interrupted = true
		st[0] = 1
	}
}
