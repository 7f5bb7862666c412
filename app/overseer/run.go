package overseer

import (
	"context"
	"sync/atomic"
	"time"

	"toolshed/app/code"
	"toolshed/runtime/capnweb"
	"toolshed/runtime/host"
	"toolshed/runtime/storage"
)

// run is one life of a gadget, from the first call to the end of its instance. main settles to the instance's main
// capability; calls made on it before that wait in order.
type run struct {
	main    *capnweb.Promise
	resolve func(any)
	reject  func(error)
	started bool
	stop    context.CancelFunc

	instance *host.Instance // with its child and data; nil until it has started
	child    *host.Child
	data     *storage.Store

	calls  int          // how often it was entered
	inside atomic.Int32 // who has entered it and not left; only the gadget's lock lets somebody in
	used   time.Time    // when it was last entered, or was found to have something to do

	evicted bool
	before  *run // has the gadget's data still; nil if nobody has
	ended   chan struct{}
}

// enter returns the run that calls go to, beginning one if there is none. The run is not evicted until leave.
func (g *gadget) enter() (*run, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return nil, unknownGadget(g.record.Title)
	case g.held != nil:
		return nil, g.held
	case g.run == nil && g.problem != nil:
		return nil, g.problem
	case g.run == nil:
		g.beginLocked()
	}
	if r := g.run; r.instance != nil && r.instance.Err() != nil { // its end is not written down yet
		g.holder = r
		g.beginLocked()
	}
	r := g.run
	r.calls++
	r.inside.Add(1)
	r.used = time.Now()
	return r, nil
}

func (r *run) leave() { r.inside.Add(-1) }

func (g *gadget) beginLocked() {
	r := &run{before: g.holder, ended: make(chan struct{})}
	r.main, r.resolve, r.reject = capnweb.NewPromise()
	var ctx context.Context
	ctx, r.stop = context.WithCancel(g.workspace.kernel.ctx)
	g.run = r
	go g.live(ctx, r)
}

// live is the whole life of an instance: start, run, end.
func (g *gadget) live(ctx context.Context, r *run) {
	defer close(r.ended)
	defer r.stop()
	g.workspace.kernel.Changed()
	err := r.wait(ctx)
	if err == nil {
		err = g.refused()
	}
	if err == nil {
		err = g.serve(ctx, r)
		g.end(r, err)
	} else {
		g.gone(r)
	}
	// Calls that still wait fail with the reason, which whoever hears of it finds in the gadget's state already. Only the
	// first settling counts: where the instance ran, this does nothing.
	r.reject(err)
	g.workspace.kernel.Changed()
}

// wait waits until the gadget's data is free.
func (r *run) wait(ctx context.Context) error {
	if r.before == nil {
		return nil
	}
	select {
	case <-r.before.ended:
		r.before = nil
		return nil
	case <-ctx.Done():
		return &host.Failure{Kind: host.KindClosed, Message: "it was closed"}
	}
}

// refused returns why a gadget whose run has ended while this one waited is not to run again, if so.
func (g *gadget) refused() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.problem == nil {
		return nil
	}
	return g.problem
}

// gone forgets a run that has ended.
func (g *gadget) gone(r *run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.goneLocked(r)
}

func (g *gadget) goneLocked(r *run) {
	if g.run == r {
		g.run = nil
	}
	if g.holder == r {
		g.holder = nil
	}
}

// serve runs one instance and returns why it ended.
func (g *gadget) serve(ctx context.Context, r *run) error {
	commit, server, err := g.source()
	if err != nil {
		return err
	}
	data, closeData, err := g.openData()
	if err != nil {
		return err
	}
	defer closeData()
	g.beforeCode(commit, data)
	seat, err := g.workspace.kernel.children.Enter(ctx, g.place())
	if err != nil {
		return err
	}
	defer seat.Leave()
	self := capnweb.NewStub(gateway{g})
	defer self.Dispose()
	startCtx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	instance, err := seat.Child.Start(startCtx, host.Spec{
		ID:       g.id,
		Files:    server,
		Bindings: []string{"GADGET"},
		Env:      bindings{"GADGET": self},
		Storage:  data,
		Limits:   g.workspace.kernel.options.Limits,
		Console:  g.console.fromGuest,
		SendError: func(err error) error {
			return &capnweb.Error{Name: "Error", Message: Explain(err).ForGadget().Error()}
		},
	})
	if err != nil {
		return err
	}
	defer instance.Close()
	g.started(r, instance, seat.Child, data)
	r.resolve(instance.Main().Dup())
	g.noteCode(commit) // to write takes milliseconds, which nobody who calls waits for
	g.workspace.touch()
	g.workspace.kernel.Changed()
	select {
	case <-instance.Done():
		return instance.Err()
	case <-ctx.Done():
		return &host.Failure{Kind: host.KindClosed, Message: "it was closed"}
	}
}

// source reads the server half at the gadget's current commit.
func (g *gadget) source() (commit string, server code.Files, err error) {
	commit, files, err := g.workspace.code.Head(g.id)
	if err != nil {
		return "", nil, err
	}
	server, err = files.Server()
	return commit, server, err
}

func (g *gadget) started(r *run, instance *host.Instance, child *host.Child, data *storage.Store) {
	g.mu.Lock()
	r.started, r.instance, r.child, r.data = true, instance, child, data
	g.mu.Unlock()
	g.workspace.kernel.Changed()
	g.workspace.kernel.evictor.startedOne()
}

// end records how a run ended. An instance that was closed, and one that died for the first time in a while, leave the
// gadget idle: the next call starts it. One that could not start, or dies again and again, leaves it stopped.
func (g *gadget) end(r *run, err error) {
	p := Explain(err)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.goneLocked(r)
	if p.Kind == host.KindClosed || g.closed || r.evicted { // what was evicted had nothing to do, however it ended
		return
	}
	g.console.add(Line{Level: "error", Text: p.Error(), Time: now(), Source: "server"})
	recent := []time.Time{time.Now()}
	for _, t := range g.died {
		if time.Since(t) < deathWindow {
			recent = append(recent, t)
		}
	}
	g.died = recent
	allowed, unstarted := deaths, !r.started
	if p.Kind == host.KindChild {
		allowed, unstarted = childDeaths, false
	}
	if final := g.suspicion.died(err, time.Now()); final != nil {
		g.problem = final
	} else if unstarted || len(recent) >= allowed {
		g.problem = p
	}
}

// halt ends the running instance and waits until nobody has the gadget's data.
func (g *gadget) halt() {
	g.mu.Lock()
	r, holder := g.run, g.holder
	g.mu.Unlock()
	for _, r := range []*run{r, holder} {
		if r != nil {
			r.stop()
			<-r.ended
		}
	}
}
