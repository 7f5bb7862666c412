package overseer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"toolshed/app/code"
	"toolshed/runtime/capnweb"
	"toolshed/runtime/host"
	"toolshed/runtime/storage"
)

// The states of a gadget.
const (
	Idle     = "idle"     // not running; a call starts it
	Starting = "starting" // calls wait
	Running  = "running"
	Stopped  = "stopped" // it failed; calls fail until a person starts it again, or its code changes
)

// A gadget that ends by itself deaths times within a deathWindow is left stopped.
const (
	deaths      = 3
	childDeaths = 10 // a child's death is seldom the fault of each gadget in it
	deathWindow = 30 * time.Second
	startLimit  = 30 * time.Second // from the first call to a running instance
)

// Gadget is a gadget as it is now.
type Gadget struct {
	ID        string   `json:"id"`
	Title     string   `json:"title"`
	Blueprint string   `json:"blueprint"`
	Headless  bool     `json:"headless"` // it has no user interface
	Status    string   `json:"status"`   // Idle, Starting, Running or Stopped
	Problem   *Problem `json:"problem,omitempty"`
	Views     int      `json:"views"` // user interfaces that are open
}

// gadget is one gadget of an overseer: its record, its console, and the instance that runs, if one does.
type gadget struct {
	workspace *overseer
	id        string
	created   int64
	console   console

	mu      sync.Mutex
	record  gadgetRecord
	run     *run
	problem *Problem
	died    []time.Time

	suspicion suspicion
	views     int
	held      *Problem // why it may not run now; nil when it may
	closed    bool
}

// run is one life of a gadget, from the first call to the end of its instance. main settles to the instance's main
// capability; calls made on it before that wait in order.
type run struct {
	main    *capnweb.Promise
	resolve func(any)
	reject  func(error)
	started bool
	stop    context.CancelFunc

	instance *host.Instance // and its data; nil until it has started
	data     *storage.Store

	ended chan struct{}
	next  *run // begins when this one has ended; nil while nobody has called since its instance ended
}

func newGadget(w *overseer, id string, record gadgetRecord) *gadget {
	return &gadget{workspace: w, id: id, created: record.Created, record: record}
}

// Connect returns a capability of the gadget for one caller: its calls reach the gadget in the order they were made,
// whichever instance runs. The caller disposes it.
func (k *Kernel) Connect(ref Ref) (*capnweb.Stub, error) {
	g, err := k.findGadget(ref)
	if err != nil {
		return nil, err
	}
	return capnweb.NewStub(gateway{g}), nil
}

// gateway is the only way to a gadget's methods.
type gateway struct{ *gadget }

// Forward passes a call or a property read on to the running instance, starting one if there is none.
func (g gateway) Forward(ctx context.Context, path []any, args []any, call bool) *capnweb.Promise {
	if len(path) > 0 && path[0] == host.AlarmMethod {
		return capnweb.Rejected(&capnweb.Error{Name: "TypeError", Message: "'alarm' is called when the gadget's alarm is due, by nobody else"})
	}
	main, err := g.current()
	switch {
	case err != nil:
		return capnweb.Rejected(err)
	case call:
		return main.CallPath(ctx, path, args)
	}
	return main.GetPath(ctx, path)
}

// Call makes a gateway a capnweb.Target; the session prefers Forward.
func (g gateway) Call(ctx context.Context, method string, args []any) (any, error) {
	return g.Forward(ctx, []any{method}, args, true), nil
}

// current returns the main capability of the instance that runs, or of one that starts now.
func (g *gadget) current() (*capnweb.Promise, error) {
	r, err := g.currentRun()
	if err != nil {
		return nil, err
	}
	return r.main, nil
}

func (g *gadget) currentRun() (*run, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed || g.held != nil:
		return nil, g.refusalLocked()
	case g.run != nil && (g.run.instance == nil || g.run.instance.Err() == nil):
		return g.run, nil
	case g.run != nil:
		return g.nextLocked(), nil
	case g.problem != nil:
		return nil, g.refusalLocked()
	}
	r, ctx := g.newRun()
	g.run = r
	go g.live(ctx, r)
	return r, nil
}

// refusalLocked returns why the gadget may not be started, nil if it may.
func (g *gadget) refusalLocked() error {
	switch {
	case g.closed:
		return unknownGadget(g.record.Title)
	case g.held != nil:
		return g.held
	case g.problem != nil:
		return g.problem
	}
	return nil
}

func (g *gadget) newRun() (*run, context.Context) {
	r := &run{ended: make(chan struct{})}
	r.main, r.resolve, r.reject = capnweb.NewPromise()
	var ctx context.Context
	ctx, r.stop = context.WithCancel(g.workspace.kernel.ctx)
	return r, ctx
}

// nextLocked returns the run that follows one whose instance has ended: whoever has heard of that may call again before
// its data is closed.
func (g *gadget) nextLocked() *run {
	before := g.run
	if before.next == nil {
		r, ctx := g.newRun()
		before.next = r
		go func() {
			<-before.ended
			g.mu.Lock()
			adopted, why := g.run == r, g.refusalLocked()
			g.mu.Unlock()
			if !adopted {
				r.stop()
				r.reject(why)
				close(r.ended)
				return
			}
			g.live(ctx, r)
		}()
	}
	return before.next
}

// live is the whole life of an instance: start, run, end.
func (g *gadget) live(ctx context.Context, r *run) {
	defer close(r.ended)
	defer r.stop()
	g.workspace.kernel.Changed()
	err := g.serve(ctx, r)
	g.end(r, err)
	// Calls that still wait fail with the reason, which whoever hears of it finds in the gadget's state already. Only the
	// first settling counts: where the instance ran, this does nothing.
	r.reject(err)
	g.workspace.kernel.Changed()
}

// serve runs one instance and returns why it ended.
func (g *gadget) serve(ctx context.Context, r *run) error {
	server, err := g.source()
	if err != nil {
		return err
	}
	data, closeData, err := g.openData()
	if err != nil {
		return err
	}
	defer closeData()
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
	g.started(r, instance, data)
	r.resolve(instance.Main().Dup())
	select {
	case <-instance.Done():
		return instance.Err()
	case <-ctx.Done():
		return &host.Failure{Kind: host.KindClosed, Message: "it was closed"}
	}
}

// source reads the server half at the gadget's current commit.
func (g *gadget) source() (code.Files, error) {
	_, files, err := g.workspace.code.Head(g.id)
	if err != nil {
		return nil, err
	}
	return files.Server()
}

func (g *gadget) started(r *run, instance *host.Instance, data *storage.Store) {
	g.mu.Lock()
	r.started, r.instance, r.data = true, instance, data
	g.mu.Unlock()
	g.workspace.touch()
	g.workspace.kernel.Changed()
}

// end records how a run ended. An instance that was closed, and one that died for the first time in a while, leave the
// gadget idle: the next call starts it. One that could not start, or dies again and again, leaves it stopped.
func (g *gadget) end(r *run, err error) {
	p := Explain(err)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.run = nil
	defer func() {
		if r.next != nil && g.refusalLocked() == nil {
			g.run = r.next
		}
	}()
	if p.Kind == host.KindClosed || g.closed {
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

// bindings is the guest's main capability: a property for each name in env.
type bindings map[string]*capnweb.Stub

// Property returns the binding with that name, as a reference of its own.
func (b bindings) Property(ctx context.Context, name string) (any, error) {
	if s := b[name]; s != nil {
		return s.Dup(), nil
	}
	return capnweb.Undefined{}, nil
}

// Call refuses: env has no methods.
func (b bindings) Call(ctx context.Context, method string, args []any) (any, error) {
	return nil, capnweb.NoMethod(method)
}

// Restart ends the running instance, if there is one, forgets why the gadget was stopped, and starts it again.
func (k *Kernel) Restart(ref Ref) error {
	g, err := k.findGadget(ref)
	if err != nil {
		return err
	}
	g.halt()
	g.mu.Lock()
	g.problem, g.died, g.suspicion.times = nil, nil, nil // a gadget in quarantine stays there
	g.mu.Unlock()
	_, err = g.current()
	return err
}

// halt ends the running instance and waits for its end.
func (g *gadget) halt() {
	g.mu.Lock()
	r := g.run
	g.mu.Unlock()
	if r != nil {
		r.stop()
		<-r.ended
	}
}

func (g *gadget) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.halt()
}

func (g *gadget) setRecord(r gadgetRecord) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.record = r
}

func (g *gadget) describe() Gadget {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := Gadget{ID: g.id, Title: g.record.Title, Blueprint: g.record.Blueprint, Headless: g.record.Headless, Status: Idle, Problem: g.problem, Views: g.views}
	switch {
	case g.run != nil && g.run.started:
		d.Status = Running
	case g.run != nil:
		d.Status = Starting
	case g.problem != nil:
		d.Status = Stopped
	}
	return d
}

// Console returns the gadget's last console lines, a channel of the later ones, and the function that ends it.
func (k *Kernel) Console(ref Ref) ([]Line, <-chan []Line, func(), error) {
	g, err := k.findGadget(ref)
	if err != nil {
		return nil, nil, nil, err
	}
	lines, later, stop := g.console.watch()
	return lines, later, stop, nil
}

// Report adds lines from a user interface of the gadget to its console.
func (k *Kernel) Report(ref Ref, lines []Line) error {
	g, err := k.findGadget(ref)
	if err != nil {
		return err
	}
	if len(lines) > consoleLines {
		lines = lines[len(lines)-consoleLines:]
	}
	for i := range lines {
		lines[i].Source = "view"
	}
	g.console.add(lines...)
	return nil
}

// View is an open user interface of a gadget.
type View struct {
	Code  string // the text of the client's ES module
	Stub  *capnweb.Stub
	Title string
	Close func() // says that the view is closed; may be called twice
}

// OpenView bundles the gadget's client and counts a view until Close.
func (k *Kernel) OpenView(ref Ref) (*View, error) {
	g, err := k.findGadget(ref)
	if err != nil {
		return nil, err
	}
	_, files, err := g.workspace.code.Head(g.id)
	if err != nil {
		return nil, fmt.Errorf("overseer: open a view: %w", err)
	}
	g.mu.Lock()
	title := g.record.Title
	g.mu.Unlock()
	text, err := files.Client()
	if err != nil {
		return nil, err
	}
	g.countView(1)
	g.workspace.touch()
	view := &View{Code: text, Stub: capnweb.NewStub(gateway{g}), Title: title}
	view.Close = sync.OnceFunc(func() {
		view.Stub.Dispose()
		g.countView(-1)
	})
	return view, nil
}

func (g *gadget) countView(by int) {
	g.mu.Lock()
	g.views += by
	g.mu.Unlock()
	g.workspace.kernel.Changed()
}
