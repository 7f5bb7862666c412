package host

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Purpose is what a child of a workspace is for. Gadgets of one purpose share a child.
type Purpose int

// The purposes.
const (
	ForGadgets    Purpose = iota // the gadgets of a workspace
	ForCode                      // code of agents, and previews of gadgets
	ForQuarantine                // one gadget that ended the process it shared with others
)

// Place names a child: whose it is and what for.
type Place struct {
	Workspace string
	Purpose   Purpose
	Gadget    string // of ForQuarantine
}

// Errors of Enter.
var (
	ErrPoolClosed      = errors.New("host: the pool of gadget hosts is closed")
	ErrTooManyChildren = errors.New("host: as many gadget hosts run as may run at a time")
)

// PoolOptions say how a Pool keeps children. A zero field means its default.
type PoolOptions struct {
	Config
	Max       int           // children that have a place, at a time; default 32
	Idle      time.Duration // how long a child is kept after the last one has left it; default a minute
	NoSpare   bool          // start a child when it is needed, and none before
	SpareWait time.Duration // how long no child must have been started before the spare is; default half a second
}

// Pool keeps children: one for each Place that somebody is in, and a spare one that has given up its privileges already
// and goes to the next place. Its methods may be called from any goroutine.
type Pool struct {
	options PoolOptions
	ctx     context.Context
	cancel  context.CancelFunc
	work    sync.WaitGroup // starting and closing

	mu       sync.Mutex
	places   map[Place]*placed
	spare    *Child
	warming  bool // a spare is being started, or will be
	starting int  // children that somebody waits for
	started  time.Time
	closed   bool
}

// placed is a child in a place, or on its way there.
type placed struct {
	ready   chan struct{} // closed once child or err is set
	child   *Child
	err     error
	users   int
	emptied int // counts the times that the last user left
	since   time.Time
	dropped bool // it has lost its place
}

// Seat is one user's right to a child.
type Seat struct {
	Child *Child
	leave func()
}

// Leave gives the child up. It may be called more than once.
func (s *Seat) Leave() { s.leave() }

// NewPool makes a pool without a child in it. It is to be closed.
func NewPool(o PoolOptions) *Pool {
	if o.Max <= 0 {
		o.Max = 32
	}
	if o.Idle <= 0 {
		o.Idle = time.Minute
	}
	if o.SpareWait <= 0 {
		o.SpareWait = 500 * time.Millisecond
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	p := &Pool{options: o, places: map[Place]*placed{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Enter returns the place's child, which stays at least until the seat is left: the one that is there, the spare, or a
// new one, for which it waits. A child that has ended is replaced. If too many are in use the error is ErrTooManyChildren.
func (p *Pool) Enter(ctx context.Context, at Place) (*Seat, error) {
	pl, err := p.take(at)
	if err != nil {
		return nil, err
	}
	seat := &Seat{leave: sync.OnceFunc(func() { p.leave(at, pl) })}
	select {
	case <-pl.ready:
		err = pl.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		seat.Leave()
		return nil, err
	}
	seat.Child = pl.child
	return seat, nil
}

// take finds or begins the child of a place, with one user more.
func (p *Pool) take(at Place) (*placed, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrPoolClosed
	}
	pl := p.places[at]
	if pl != nil && !pl.gone() {
		pl.users++
		return pl, nil
	}
	delete(p.places, at)
	if len(p.places) >= p.options.Max && !p.makeRoomLocked() {
		return nil, ErrTooManyChildren
	}
	pl = &placed{ready: make(chan struct{}), users: 1}
	p.places[at] = pl
	if spare := p.spare; spare != nil {
		p.spare = nil
		if spare.Err() == nil {
			pl.child = spare
			close(pl.ready)
			p.warmLocked()
			return pl, nil
		}
	}
	p.starting++
	p.work.Go(func() { p.start(pl) })
	return pl, nil
}

// gone tells whether a placed child can no longer be used.
func (pl *placed) gone() bool {
	select {
	case <-pl.ready:
		return pl.err != nil || pl.child.Err() != nil
	default:
		return false
	}
}

func (p *Pool) start(pl *placed) {
	child, err := StartChild(p.ctx, p.options.Config)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starting--
	p.started = time.Now()
	switch {
	case err == nil && pl.dropped:
		p.work.Go(child.Close)
		err = ErrPoolClosed
	case err == nil:
		pl.child = child
		p.warmLocked()
	}
	pl.err = err
	close(pl.ready)
}

// makeRoomLocked ends the child that nobody has used for longest, if there is one.
func (p *Pool) makeRoomLocked() bool {
	var oldest Place
	var found *placed
	for at, pl := range p.places {
		if pl.users == 0 && (found == nil || pl.since.Before(found.since)) {
			oldest, found = at, pl
		}
	}
	if found == nil {
		return false
	}
	p.dropLocked(oldest, found)
	return true
}

// dropLocked ends a child that nobody is in.
func (p *Pool) dropLocked(at Place, pl *placed) {
	pl.dropped = true
	delete(p.places, at)
	if pl.child != nil {
		p.work.Go(pl.child.Close)
	}
}

func (p *Pool) leave(at Place, pl *placed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pl.users--; pl.users > 0 || p.closed {
		return
	}
	pl.emptied++
	pl.since = time.Now()
	if p.places[at] != pl {
		return // it had ended, and has a successor or none
	}
	turn := pl.emptied
	time.AfterFunc(p.options.Idle, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.closed && pl.users == 0 && pl.emptied == turn && p.places[at] == pl {
			p.dropLocked(at, pl)
		}
	})
}

// Warm starts the spare child in the background if there is none, so that the first place gets one at once too.
func (p *Pool) Warm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.warmLocked()
}

func (p *Pool) warmLocked() {
	if p.options.NoSpare || p.closed || p.warming || p.spare != nil {
		return
	}
	p.warming = true
	p.work.Go(p.warm)
}

// warm starts a spare once no other child has been started for a while. One that cannot be started is not tried again
// before the next child is.
func (p *Pool) warm() {
	for wait := p.options.SpareWait; wait > 0; {
		select {
		case <-p.ctx.Done():
			return
		case <-time.After(wait):
		}
		p.mu.Lock()
		wait = p.options.SpareWait - time.Since(p.started)
		if p.starting > 0 {
			wait = p.options.SpareWait
		}
		p.mu.Unlock()
	}
	child, err := StartChild(p.ctx, p.options.Config)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.warming = false
	switch {
	case err != nil:
		if !p.closed {
			p.options.Log.Warn("the spare gadget host could not be started", "error", err)
		}
	case p.closed:
		p.work.Go(child.Close)
	default:
		p.spare = child
	}
}

// Close ends every child, waits until they are reaped, and lets nobody enter any more. It may be called more than once.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for at, pl := range p.places {
		p.dropLocked(at, pl)
	}
	if p.spare != nil {
		p.work.Go(p.spare.Close)
		p.spare = nil
	}
	p.mu.Unlock()
	p.cancel()
	p.work.Wait()
}
