package overseer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"toolshed/runtime/capnweb"
	"toolshed/runtime/host"
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
	holder  *run // ends, and has the data until then; run is another one or nil
	problem *Problem
	died    []time.Time

	suspicion suspicion
	views     int
	held      *Problem // why it may not run now; nil when it may
	closed    bool
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
	r, err := g.enter()
	if err != nil {
		return capnweb.Rejected(err)
	}
	defer r.leave()
	if call {
		return r.main.CallPath(ctx, path, args)
	}
	return r.main.GetPath(ctx, path)
}

// Call makes a gateway a capnweb.Target; the session prefers Forward.
func (g gateway) Call(ctx context.Context, method string, args []any) (any, error) {
	return g.Forward(ctx, []any{method}, args, true), nil
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
	r, err := g.enter()
	if err == nil {
		r.leave()
	}
	return err
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
