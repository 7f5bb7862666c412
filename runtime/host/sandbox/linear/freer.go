package linear

import (
	"runtime/debug"
	"sync/atomic"
	"time"
)

// FreeAfter is the time between the first call of Soon and free memory going back to the system.
const FreeAfter = 3 * time.Second

// Freer gives memory that is free to the process back to the system, now and then.
type Freer struct{ pending atomic.Bool }

// Soon is called when there is something to give back.
func (f *Freer) Soon() {
	if f.pending.Swap(true) {
		return
	}
	time.AfterFunc(FreeAfter, func() {
		f.pending.Store(false)
		debug.FreeOSMemory()
	})
}
