package api

import (
	"context"
	"time"

	"toolshed/app/code"
	"toolshed/app/overseer"
	"toolshed/runtime/capnweb"
)

// State is everything the page shows besides the gadgets themselves.
type State struct {
	Person     Person      `json:"person"`
	Build      string      `json:"build"`
	Workspaces []Workspace `json:"workspaces"`
	Blueprints []Blueprint `json:"blueprints"`
	Notices    []Notice    `json:"notices"`
}

// Person is who uses this Toolshed.
type Person struct {
	Name string `json:"name"`
}

// Workspace is a project with its gadgets. Times are milliseconds since 1970.
type Workspace struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Created int64    `json:"created"`
	Opened  int64    `json:"opened"`
	Gadgets []Gadget `json:"gadgets"`
	Problem *Problem `json:"problem,omitempty"`
}

// Gadget is one app of a workspace.
type Gadget struct {
	ID        string   `json:"id"`
	Title     string   `json:"title"`
	Blueprint string   `json:"blueprint"`
	Headless  bool     `json:"headless"`
	Status    string   `json:"status" ts:"\"idle\" | \"starting\" | \"running\" | \"stopped\""`
	Problem   *Problem `json:"problem,omitempty"`
	Views     int      `json:"views"`
}

// Problem is what happened, why, and what to do.
type Problem struct {
	Kind   string `json:"kind"`
	What   string `json:"what"`
	Why    string `json:"why"`
	Todo   string `json:"todo"`
	Detail string `json:"detail,omitempty"`
}

// Blueprint is something a gadget can be made from.
type Blueprint struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Thumbnail   string `json:"thumbnail"`
}

// Notice is something the person should know that belongs to no gadget.
type Notice struct {
	ID    string `json:"id"`
	Level string `json:"level" ts:"\"info\" | \"warning\" | \"error\""`
	Text  string `json:"text"`
	Todo  string `json:"todo,omitempty"`
}

// GadgetRef names a gadget.
type GadgetRef struct {
	Workspace string `json:"workspace"`
	Gadget    string `json:"gadget"`
}

func (r GadgetRef) ref() overseer.Ref { return overseer.Ref{Workspace: r.Workspace, Gadget: r.Gadget} }

// View is a user interface that was opened: where its frame document lies, the channel of this pipe on which its frame
// speaks, and the code to send to it. With a problem there is no channel.
type View struct {
	Channel int      `json:"channel"`
	Frame   string   `json:"frame"`
	Code    string   `json:"code"`
	Problem *Problem `json:"problem,omitempty"`
}

// ConsoleLine is one line of a gadget's console.
type ConsoleLine struct {
	Level  string `json:"level" ts:"\"debug\" | \"log\" | \"info\" | \"warn\" | \"error\""`
	Text   string `json:"text"`
	Time   int64  `json:"time"`
	Source string `json:"source" ts:"\"server\" | \"view\""`
}

// Subscription is something that goes on until it is stopped or disposed.
type Subscription struct {
	capability *capnweb.Stub
}

// The parameters of the shell's methods.
type (
	watchState struct {
		OnState *capnweb.Stub `json:"onState" ts:"(state: State) => void"`
	}
	createGadget struct {
		Blueprint string `json:"blueprint"`
		Title     string `json:"title,omitempty"`
		Workspace string `json:"workspace,omitempty"`
	}
	renameWorkspace struct {
		Workspace string `json:"workspace"`
		Title     string `json:"title"`
	}
	oneWorkspace struct {
		Workspace string `json:"workspace"`
	}
	renameGadget struct {
		Workspace string `json:"workspace"`
		Gadget    string `json:"gadget"`
		Title     string `json:"title"`
	}
	oneChannel struct {
		Channel int `json:"channel"`
	}
	watchConsole struct {
		Workspace string        `json:"workspace"`
		Gadget    string        `json:"gadget"`
		OnLines   *capnweb.Stub `json:"onLines" ts:"(lines: ConsoleLine[]) => void"`
	}
	reportLines struct {
		Workspace string        `json:"workspace"`
		Gadget    string        `json:"gadget"`
		Lines     []ConsoleLine `json:"lines"`
	}
	oneNotice struct {
		ID string `json:"id"`
	}
)

// shell is the role of the page: the person in front of it.
func (c *connection) shell() role {
	return role{"Shell", []method{
		bind("state", func(ctx context.Context, _ none) (State, error) { return c.api.state() }),
		bind("watch", c.watch),
		bindLong("createGadget", c.createGadget),
		bind("renameWorkspace", func(ctx context.Context, p renameWorkspace) (none, error) {
			return none{}, c.api.kernel.RenameWorkspace(p.Workspace, p.Title)
		}),
		bindLong("deleteWorkspace", func(ctx context.Context, p oneWorkspace) (none, error) {
			return none{}, c.api.kernel.DeleteWorkspace(p.Workspace)
		}),
		bind("renameGadget", func(ctx context.Context, p renameGadget) (none, error) {
			return none{}, c.api.kernel.RenameGadget(overseer.Ref{Workspace: p.Workspace, Gadget: p.Gadget}, p.Title)
		}),
		bindLong("deleteGadget", func(ctx context.Context, p GadgetRef) (none, error) {
			return none{}, c.api.kernel.DeleteGadget(p.ref())
		}),
		bindLong("restartGadget", func(ctx context.Context, p GadgetRef) (none, error) {
			return none{}, c.api.kernel.Restart(p.ref())
		}),
		bindLong("openView", c.openView),
		bind("closeView", func(ctx context.Context, p oneChannel) (none, error) { c.closeChannel(p.Channel); return none{}, nil }),
		bind("console", c.console),
		bind("report", c.report),
		bind("dismissNotice", func(ctx context.Context, p oneNotice) (none, error) { c.api.dismiss(p.ID); return none{}, nil }),
	}}
}

func (a *API) state() (State, error) {
	person, err := a.profile.Person()
	if err != nil {
		return State{}, err
	}
	s := State{Person: Person{person.Name}, Build: a.build, Workspaces: []Workspace{}, Blueprints: []Blueprint{}}
	for _, w := range a.kernel.Workspaces() {
		s.Workspaces = append(s.Workspaces, workspaceOf(w))
	}
	for _, b := range code.Blueprints() {
		s.Blueprints = append(s.Blueprints, Blueprint{b.Name, b.Title, b.Description, b.Thumbnail})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s.Notices = append([]Notice{}, a.notices...)
	return s, nil
}

func workspaceOf(w overseer.Workspace) Workspace {
	out := Workspace{ID: w.ID, Title: w.Title, Created: w.Created, Opened: w.Opened, Gadgets: []Gadget{}, Problem: problemOf(w.Problem)}
	for _, g := range w.Gadgets {
		out.Gadgets = append(out.Gadgets, Gadget{g.ID, g.Title, g.Blueprint, g.Headless, g.Status, problemOf(g.Problem), g.Views})
	}
	return out
}

func problemOf(p *overseer.Problem) *Problem {
	if p == nil {
		return nil
	}
	out := Problem(*p)
	return &out
}

func (c *connection) createGadget(ctx context.Context, p createGadget) (GadgetRef, error) {
	ref, err := c.api.kernel.CreateGadget(overseer.NewGadget{Blueprint: p.Blueprint, Title: p.Title, Workspace: p.Workspace})
	return GadgetRef(ref), err
}

// callbackLimit bounds how long a page may take over one callback before its subscription ends.
const callbackLimit = 30 * time.Second

// watch calls onState at once and after each change. Changes that come while a call is under way are one call.
func (c *connection) watch(ctx context.Context, p watchState) (Subscription, error) {
	changes, unwatch := c.api.kernel.Watch()
	return c.subscribe(p.OnState, unwatch, func(ctx context.Context, send func(any) error) error {
		for {
			state, err := c.api.state()
			if err != nil {
				return err
			}
			if err := send(state); err != nil {
				return err
			}
			select {
			case <-changes:
			case <-ctx.Done():
				return nil
			}
		}
	}), nil
}

// console calls onLines with what the gadget's console holds, then with what comes.
func (c *connection) console(ctx context.Context, p watchConsole) (Subscription, error) {
	lines, later, stop, err := c.api.kernel.Console(overseer.Ref{Workspace: p.Workspace, Gadget: p.Gadget})
	if err != nil {
		return Subscription{}, err
	}
	return c.subscribe(p.OnLines, stop, func(ctx context.Context, send func(any) error) error {
		for {
			if err := send(consoleLines(lines)); err != nil {
				return err
			}
			var open bool
			select {
			case lines, open = <-later:
				if !open {
					return nil
				}
			case <-ctx.Done():
				return nil
			}
		}
	}), nil
}

func consoleLines(lines []overseer.Line) []ConsoleLine {
	out := make([]ConsoleLine, len(lines))
	for i, l := range lines {
		out[i] = ConsoleLine(l)
	}
	return out
}

func (c *connection) report(ctx context.Context, p reportLines) (none, error) {
	lines := make([]overseer.Line, len(p.Lines))
	for i, l := range p.Lines {
		lines[i] = overseer.Line(l)
	}
	return none{}, c.api.kernel.Report(overseer.Ref{Workspace: p.Workspace, Gadget: p.Gadget}, lines)
}
