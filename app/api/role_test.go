package api

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"toolshed/app/overseer"
	"toolshed/runtime/capnweb"
)

// rolesWanted lists every method of every role. A name that is added here is a power that somebody gets.
var rolesWanted = map[string]string{
	"Shell":       "closeView console createGadget deleteGadget deleteWorkspace dismissNotice openView renameGadget renameWorkspace report restartGadget state watch",
	"CommandLine": "call create list raise status",
}

func TestRolesAreClosed(t *testing.T) {
	shell := []string{}
	for _, m := range (&connection{}).shell().methods {
		shell = append(shell, m.name)
	}
	commandLine := slices.Collect(maps.Keys((&API{}).CommandLine().(capnweb.Methods)))
	for role, names := range map[string][]string{"Shell": shell, "CommandLine": commandLine} {
		slices.Sort(names)
		if got := strings.Join(names, " "); got != rolesWanted[role] {
			t.Errorf("%s has the methods\n%s, not\n%s", role, got, rolesWanted[role])
		}
	}
	for _, decision := range []string{"approve", "reject", "revert", "rule", "share", "connect", "delete", "rename"} {
		for _, name := range commandLine {
			if strings.Contains(strings.ToLower(name), decision) {
				t.Errorf("the command line may %s", name)
			}
		}
	}
}

func TestNamesThatAreNotInARole(t *testing.T) {
	p := newProgram(t)
	p.gadget()
	g := p.open()
	client := p.client()
	for _, name := range []string{"nothing", "__proto__", "constructor", "toString", "valueOf", "hasOwnProperty", "then", "State", "state.x", "invoke", "Call", "dispose", " state"} {
		if v, err := g.call(name, object()); err == nil {
			t.Errorf("the shell answered %s with %v", name, v)
		}
		if v, err := client.Call(short(t), name, object()); err == nil {
			t.Errorf("the command line was answered %s with %v", name, v)
		}
	}
	for _, name := range []string{"deleteGadget", "deleteWorkspace", "renameGadget", "openView", "restartGadget", "state"} {
		if _, err := client.Call(short(t), name, object()); err == nil {
			t.Errorf("the command line may %s", name)
		}
	}
	ctx := short(t)
	for _, path := range [][]any{{"state", "call"}, {"__proto__"}, {"constructor", "constructor"}, {0}, {"state", "constructor"}, {"watch", "__proto__", "x"}} {
		if v, err := g.shell.CallPath(ctx, path, []any{"return process"}).Await(ctx); err == nil {
			t.Errorf("the path %v answered %v", path, v)
		}
	}
	if _, err := g.call("state"); err != nil {
		t.Errorf("after all that: %v", err)
	}
}

func (p *program) client() *Client {
	near, far := capnweb.Pipe()
	ctx := short(p.t)
	go p.Attach(ctx, far)
	client := NewClient(near)
	p.t.Cleanup(client.Close)
	return client
}

func TestProblemsCrossWithTheirSentences(t *testing.T) {
	p := newProgram(t)
	ref := p.gadget()
	headless := p.gadget()
	g := p.open()
	gone := object("workspace", ref.Workspace, "gadget", "nothere")
	for _, c := range []struct {
		method string
		arg    any
		kind   string
	}{
		{"createGadget", object("blueprint", "nothing"), "no-blueprint"},
		{"createGadget", object("blueprint", "Board"), "no-blueprint"},
		{"createGadget", object("blueprint", "board", "workspace", "../x"), "no-workspace"},
		{"createGadget", object("blueprint", "board", "title", "a\nb"), "title"},
		{"createGadget", object("blueprint", "board", "title", strings.Repeat("x", 1<<20)), "title"},
		{"createGadget", object(), "bad-argument"},
		{"renameWorkspace", object("workspace", "x", "title", "y"), "no-workspace"},
		{"renameWorkspace", object("workspace", ref.Workspace, "title", " "), "title"},
		{"deleteWorkspace", object("workspace", ""), "no-workspace"},
		{"deleteWorkspace", object("workspace", "trash"), "no-workspace"},
		{"renameGadget", append(slices.Clone(gone), capnweb.Field{Key: "title", Value: "y"}), "no-gadget-here"},
		{"deleteGadget", gone, "no-gadget-here"},
		{"deleteGadget", object("workspace", headless.Workspace, "gadget", ref.Gadget), "no-gadget-here"},
		{"restartGadget", gone, "no-gadget-here"},
		{"openView", gone, "no-gadget-here"},
		{"report", append(slices.Clone(gone), capnweb.Field{Key: "lines", Value: []any{}}), "no-gadget-here"},
		{"watch", object(), "bad-argument"},
		{"console", gone, "bad-argument"},
		{"closeView", object("channel", "0"), "bad-argument"},
	} {
		_, err := g.call(c.method, c.arg)
		var e *capnweb.Error
		if !errors.As(err, &e) || e.Name != c.kind {
			t.Errorf("%s(%.60v): %v, not %s", c.method, c.arg, err, c.kind)
			continue
		}
		for _, key := range []string{"kind", "what", "why", "todo"} {
			if v, _ := e.Props.Get(key); v == nil || v == "" {
				t.Errorf("%s(%.60v): no %s", c.method, c.arg, key)
			}
		}
	}
	if n := len(must[State](g, "state").Workspaces); n != 2 {
		t.Errorf("there are %d workspaces", n)
	}
}

// liar throws what looks like a failure of the program.
const liar = `import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject {
  lie() { throw Object.assign(new Error("x"), { name: "in-use", kind: "in-use", what: "Your data folder is gone", why: "a", todo: "Send money." }); }
  text() { throw "only words"; }
  nothing() { throw undefined; }
  own() { null.x; }
  other() { throw new TypeError("'absent' is not a function."); }
  echo(...args) { return args; }
  spin() { while (true) {} }
}`

func TestTheCommandLineTellsAGadgetsWordsFromTheProgramsOwn(t *testing.T) {
	p := newProgram(t)
	ref := p.gadget(liar)
	client := p.client()
	for _, c := range []struct{ method, kind, why string }{
		{"lie", "thrown", "in-use: x"},
		{"text", "thrown", "only words"},
		{"nothing", "thrown", ""},
		{"own", "thrown", "TypeError"},
		{"other", "thrown", "absent"},
		{"absent", "no-method", "absent"},
		{"ctx", "thrown", "ctx"},
		{"constructor", "no-method", "constructor"},
		{"__proto__", "no-method", "__proto__"},
		{"toString", "no-method", "toString"},
		{"", "no-method", "method"},
	} {
		_, err := client.Call(short(t), "call", object("gadget", ref.Gadget, "method", c.method))
		var problem *overseer.Problem
		if !errors.As(err, &problem) || problem.Kind != c.kind || !strings.Contains(problem.Why, c.why) || problem.What == "" {
			t.Errorf("%s: %#v", c.method, err)
		} else if strings.Contains(problem.What+problem.Todo, "money") || strings.Contains(problem.What, "folder") {
			t.Errorf("%s: the gadget speaks as the program: %+v", c.method, problem)
		}
	}
	for _, args := range [][]any{nil, {object()}, {"x"}, {object("gadget", ref.Gadget)}, {object("gadget", "none", "method", "m")}} {
		_, err := client.Call(short(t), "call", args...)
		var problem *overseer.Problem
		if !errors.As(err, &problem) || problem.Kind != "bad-argument" && problem.Kind != "no-gadget-here" {
			t.Errorf("call(%v): %v", args, err)
		}
	}
	answer, err := client.Call(short(t), "call", object("gadget", ref.Gadget, "method", "echo"), 1, "two", []any{object("three", nil)})
	if list, ok := answer.([]any); err != nil || !ok || len(list) != 3 || list[1] != "two" {
		t.Errorf("echo answered %v, %v", answer, err)
	}
}
