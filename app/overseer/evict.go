package overseer

import (
	"context"
	"slices"
	"time"

	"toolshed/runtime/host"
)

const (
	defaultGadgets = 256
	defaultMemory  = 1 << 30
	hotTime        = time.Second // what was used since then is not ended to make room
	quietLimit     = time.Second // for a child to say whether a gadget has something to do
	slowestSweep   = 15 * time.Second
)

// evictor ends gadgets that have nothing to do, and gives their memory back. Nobody is told: the capabilities of the gadget
// stay, and the next call starts it again from storage. Only what it kept in memory is gone, as it is in a Durable Object.
//
// A gadget is ended if it was not used for a while and host.Instance.Quiet says that it could not notice. Nothing is held
// back while that is asked. The answer counts if nobody has entered the gadget since before the question, which is
// looked at under the gadget's lock, together with letting go of the run: whoever comes later begins another run, which
// waits until this one has let go of the data. So no call goes to a run that is ended, and calls stay in their order.
type evictor struct {
	kernel  *Kernel
	idle    time.Duration // negative: for ever
	gadgets int
	memory  int64
	crowded chan struct{} // a gadget has started
}

func newEvictor(k *Kernel) *evictor {
	e := &evictor{kernel: k, idle: k.options.GadgetIdle, gadgets: k.options.MaxGadgets, memory: k.options.MaxMemory,
		crowded: make(chan struct{}, 1)}
	if e.idle == 0 {
		e.idle = defaultIdle
	}
	if e.gadgets <= 0 {
		e.gadgets = defaultGadgets
	}
	if e.memory <= 0 {
		e.memory = defaultMemory
	}
	return e
}

// startedOne lets the evictor look whether a child has too many gadgets.
func (e *evictor) startedOne() {
	select {
	case e.crowded <- struct{}{}:
	default:
	}
}

// loop looks after the gadgets until the kernel is closed.
func (e *evictor) loop() {
	every := slowestSweep
	if e.idle > 0 {
		every = max(time.Millisecond, min(e.idle/4, every))
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			e.sweep(time.Now())
		case <-e.crowded:
			if e.tooMany() {
				e.sweep(time.Now())
			}
		case <-e.kernel.ctx.Done():
			return
		}
	}
}

// resident is a gadget that runs.
type resident struct {
	gadget *gadget
	run    *run
	used   time.Time
}

// residents returns the running gadgets of each child, those first that were not used for longest.
func (e *evictor) residents() map[*host.Child][]resident {
	k := e.kernel
	k.mu.Lock()
	workspaces := k.listLocked()
	k.mu.Unlock()
	all := map[*host.Child][]resident{}
	for _, w := range workspaces {
		w.mu.Lock()
		for _, g := range w.gadgets {
			g.mu.Lock()
			if r := g.run; r != nil && r.started {
				all[r.child] = append(all[r.child], resident{g, r, r.used})
			}
			g.mu.Unlock()
		}
		w.mu.Unlock()
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b resident) int { return a.used.Compare(b.used) })
	}
	return all
}

func (e *evictor) tooMany() bool {
	for _, list := range e.residents() {
		if len(list) > e.gadgets {
			return true
		}
	}
	return false
}

// sweep ends what was idle for long enough, and the longest unused of a child that is too full: those that are too many, and
// a quarter at a time while it has too much memory.
func (e *evictor) sweep(now time.Time) {
	for child, list := range e.residents() {
		surplus := len(list) - e.gadgets
		if used, err := child.Memory(); err == nil && used > e.memory {
			surplus = max(surplus, (len(list)+3)/4)
		}
		for _, x := range list {
			age := now.Sub(x.used)
			wanted := e.idle >= 0 && age >= e.idle || surplus > 0 && age >= hotTime
			if wanted && e.kernel.ctx.Err() == nil && x.gadget.evict(e.kernel.ctx, x.run) {
				surplus--
			}
		}
	}
}

// evict ends the run if it has nothing to do, and reports whether it does. It does not wait for the end.
func (g *gadget) evict(ctx context.Context, r *run) bool {
	g.mu.Lock()
	busy := g.run != r || !r.started || r.inside.Load() > 0
	calls := r.calls
	g.mu.Unlock()
	if busy {
		return false
	}
	if !r.quiet(ctx) {
		g.mu.Lock()
		r.used = time.Now()
		g.mu.Unlock()
		return false
	}
	return g.letGo(r, calls)
}

// letGo ends the run, which was quiet, if nobody has entered it since it had been entered that often.
func (g *gadget) letGo(r *run, calls int) bool {
	g.mu.Lock()
	if g.run != r || r.calls != calls {
		g.mu.Unlock()
		return false
	}
	g.run, g.holder, r.evicted = nil, r, true
	g.mu.Unlock()
	r.stop()
	g.workspace.kernel.Changed()
	return true
}

// quiet tells whether the run has nothing to do. Nobody may enter it meanwhile.
func (r *run) quiet(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, quietLimit)
	defer cancel()
	// Calls made while the gadget started move on in order; what is asked last has the others before it.
	last := r.main.GetPath(ctx, nil)
	_, err := last.Await(ctx)
	last.Dispose()
	return err == nil && r.instance.Quiet(ctx)
}
