package overseer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"toolshed/app/code"
	"toolshed/app/store"
	"toolshed/runtime/host"
	"toolshed/runtime/storage"
)

// Problem is a failure as a person is told of it: what happened, why, and what to do. It is an error, and crosses every
// boundary as one: Kind is stable and meant for programs.
type Problem struct {
	Kind   string `json:"kind"`
	What   string `json:"what"`
	Why    string `json:"why"`
	Todo   string `json:"todo"`
	Detail string `json:"detail,omitempty"`
}

// Error is the problem in one line.
func (p *Problem) Error() string {
	text := p.What
	if p.Why != "" {
		text += ": " + strings.TrimSuffix(p.Why, ".")
	}
	if p.Todo != "" {
		text += ". " + p.Todo
	}
	return text
}

// gadgetsOwn are the kinds of Problem whose reason lies in the gadget.
var gadgetsOwn = map[string]bool{
	host.KindSyntax: true, host.KindNoGadget: true, host.KindStart: true, host.KindCPU: true, host.KindMemory: true,
	host.KindStack: true, host.KindProtocol: true, "no-server": true, "quota": true,
}

// ForGadget is the problem as the code of a gadget may learn of it: the reason only where it lies in the gadget, because the
// others name files of this computer.
func (p *Problem) ForGadget() *Problem {
	public := *p
	public.Detail = ""
	if !gadgetsOwn[p.Kind] {
		public.Why = ""
	}
	return &public
}

func problem(kind, what, why, todo string) *Problem {
	return &Problem{Kind: kind, What: what, Why: why, Todo: todo}
}

// Explain makes a Problem of any error. The ones this package and those below it promise have words of their own; the
// rest say that something unexpected happened and keep the error's text as detail.
func Explain(err error) *Problem {
	var p *Problem
	var failure *host.Failure
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p):
		return p
	case errors.As(err, &failure):
		return explainFailure(failure)
	}
	p = explainKnown(err)
	p.Detail = err.Error()
	return p
}

// file is the name of the file that an error is about, or a word for it.
func file(err error) string {
	var e *store.FileError
	if errors.As(err, &e) {
		return e.Path
	}
	return "the file"
}

func explainKnown(err error) *Problem {
	switch {
	case errors.Is(err, store.ErrDamaged), errors.Is(err, storage.ErrDamaged):
		var e *storage.DamagedError
		if errors.As(err, &e) && e.Backup != "" {
			return problem("damaged", "The gadget's data is damaged", sentence(e.Err), "Nothing was changed or removed. Put back the backup of "+e.Time.Local().Format("2 January 2006, 15:04")+"; the damaged file is kept beside it.")
		}
		return problem("damaged", "A file of Toolshed's is damaged", damaged(err), "Nothing was changed or removed. Put back a copy of the file from a backup, or move it away to go on without it.")
	case errors.Is(err, store.ErrFull), errors.Is(err, storage.ErrFull):
		return problem("full", "The disk is full", "there was no room for the change, so none of it was kept", "Make room on the disk and try again.")
	case errors.Is(err, storage.ErrQuota):
		return problem("quota", "The gadget's storage is full", "it holds as much as a gadget may", "Delete some of what it stores.")
	case errors.Is(err, store.ErrReadOnly), errors.Is(err, storage.ErrReadOnly):
		return problem("read-only", "The data folder cannot be written", "the system does not let Toolshed write "+file(err), "Allow writing to the folder, or choose another one with --data.")
	case errors.Is(err, store.ErrInUse), errors.Is(err, storage.ErrInUse):
		return problem("in-use", "The data folder is in use", "another Toolshed has it open", "Use that one, or close it first.")
	case errors.Is(err, store.ErrNewer), errors.Is(err, storage.ErrFormat):
		return problem("newer", "The data was written by a newer Toolshed", "this version does not know the layout of "+file(err), "Install the newer version, or choose another folder with --data.")
	case errors.Is(err, code.ErrNoBlueprint):
		return problem("no-blueprint", "There is no such blueprint", sentence(err), "Choose one of those.")
	case errors.Is(err, code.ErrSyntax):
		return problem("syntax", "The gadget's code has a mistake", sentence(err), "Correct that line.")
	case errors.Is(err, code.ErrNoServer):
		return problem("no-server", "The gadget has no server half", "its code has no server.js", "Add a server.js that exports a class named Gadget.")
	case errors.Is(err, code.ErrNoClient):
		return problem("headless", "The gadget has no user interface", "its code has no client.js", "Call its methods from the command line, or add a client.js.")
	case errors.Is(err, context.DeadlineExceeded):
		return problem("timeout", "It took too long", "there was no answer in time", "Try again.")
	case errors.Is(err, context.Canceled):
		return problem("closed", "It was stopped", "Toolshed is closing", "Start Toolshed again.")
	}
	return problem("internal", "Something unexpected went wrong", sentence(err), "Try again; if it stays, start Toolshed again.")
}

// damaged says which file is damaged. The storage of a gadget names it in its own words.
func damaged(err error) string {
	var e *store.FileError
	if errors.As(err, &e) {
		return e.Path + " does not hold what Toolshed wrote there"
	}
	return sentence(err)
}

// sentence is an error's text without the names of the operations that wrap it.
func sentence(err error) string { return strings.TrimSuffix(err.Error(), ".") }

// failures says for each kind of host.Failure what happened and what to do; the why is the failure's own message.
var failures = map[string][2]string{
	host.KindSyntax:   {"The gadget's code cannot be loaded", "Correct its code."},
	host.KindNoGadget: {"The gadget's code has no Gadget", "Export a class named Gadget from server.js."},
	host.KindStart:    {"The gadget failed while starting", "Look at its console, correct its code, and start it again."},
	host.KindCPU:      {"The gadget was stopped: it ran too long", "What it had stored is safe. Start it again; if it happens again its code needs mending."},
	host.KindMemory:   {"The gadget was stopped: it used too much memory", "What it had stored is safe. Start it again."},
	host.KindStack:    {"The gadget was stopped: it recursed too deeply", "What it had stored is safe. Start it again."},
	host.KindStorage:  {"The gadget's data could not be saved", "Make room on the disk and see that the data folder can be written, then start it again."},
	host.KindQuota:    {"The gadget was stopped: its storage is full", "Delete some of what it stores, then start it again."},
	host.KindProtocol: {"The gadget was stopped: it broke a limit", "What it had stored is safe. Start it again."},
	host.KindTrap:     {"The gadget was stopped: it crashed", "What it had stored is safe. Start it again."},
	host.KindChild:    {"The gadget's process ended", "What it had stored is safe. Start it again."},
	host.KindClosed:   {"The gadget was closed", "Open it again."},
}

func explainFailure(f *host.Failure) *Problem {
	words, known := failures[f.Kind]
	if !known {
		words = [2]string{"The gadget stopped", "Start it again."}
	}
	return &Problem{Kind: f.Kind, What: words[0], Why: f.Message, Todo: words[1]}
}

func unknownWorkspace(id string) *Problem {
	return problem("no-workspace", "There is no such workspace", fmt.Sprintf("no workspace has the id %q", id), "It may have been deleted. `toolshed list` shows those there are.")
}

func unknownGadget(name string) *Problem {
	return problem("no-gadget-here", "There is no such gadget", fmt.Sprintf("no gadget is called %q", name), "It may have been deleted. `toolshed list` shows those there are.")
}
