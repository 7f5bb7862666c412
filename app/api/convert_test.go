package api

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"toolshed/app/overseer"
	"toolshed/runtime/capnweb"
)

// What is encoded, sent to a peer and back, and decoded is what it was.
func TestValuesComeBackAsTheyWere(t *testing.T) {
	near, far := capnweb.Pipe()
	echo := capnweb.Methods{"echo": func(_ context.Context, args []any) (any, error) { return args[0], nil }}
	server := capnweb.NewSession(far, echo, nil)
	client := capnweb.NewSession(near, nil, nil)
	defer server.Close()
	defer client.Close()
	text, whole := rapid.StringN(0, 12, -1), rapid.Int64Range(-1<<53, 1<<53)
	problem := rapid.Ptr(rapid.Custom(func(t *rapid.T) Problem {
		return Problem{text.Draw(t, "kind"), text.Draw(t, "what"), text.Draw(t, "why"), text.Draw(t, "todo"), text.Draw(t, "detail")}
	}), true)
	gadget := rapid.Custom(func(t *rapid.T) Gadget {
		return Gadget{text.Draw(t, "id"), text.Draw(t, "title"), text.Draw(t, "blueprint"), rapid.Bool().Draw(t, "headless"), text.Draw(t, "status"), problem.Draw(t, "problem"), int(whole.Draw(t, "views"))}
	})
	workspace := rapid.Custom(func(t *rapid.T) Workspace {
		return Workspace{text.Draw(t, "id"), text.Draw(t, "title"), whole.Draw(t, "created"), whole.Draw(t, "opened"), rapid.SliceOfN(gadget, 0, 3).Draw(t, "gadgets"), problem.Draw(t, "problem")}
	})
	rapid.Check(t, func(t *rapid.T) {
		in := Workspaces{rapid.SliceOfN(workspace, 0, 3).Draw(t, "workspaces")}
		answer, err := client.Main().Call(context.Background(), "echo", encodeAny(in)).Await(context.Background())
		var out Workspaces
		if err == nil {
			err = Decode(answer, &out)
		}
		if err != nil || !reflect.DeepEqual(in, out) {
			t.Fatalf("%+v came back as %+v, %v", in, out, err)
		}
	})
}

func TestWhatCannotBeDecodedIsNamed(t *testing.T) {
	line := object("level", "log", "text", "x", "time", 1.0, "source", "view")
	lines := object("workspace", "w", "gadget", "g", "lines", []any{line, line})
	with := func(o capnweb.Object, key string, v any) capnweb.Object {
		out := capnweb.Object{}
		for _, f := range o {
			if f.Key == key {
				f.Value = v
			}
			out = append(out, f)
		}
		return out
	}
	inLine := func(key string, v any) capnweb.Object {
		return with(lines, "lines", []any{line, with(line, key, v)})
	}
	stub := capnweb.NewStub(capnweb.Methods{})
	defer stub.Dispose()
	for _, c := range []struct {
		name string
		from any
		want string // part of why; empty: it is decoded
	}{
		{"as it should be", lines, ""},
		{"with more than is known", append(append(capnweb.Object{}, lines...), object("x", 1.0, "__proto__", nil, "Workspace", 7.0)...), ""},
		{"nothing", capnweb.Undefined{}, "the argument must be an object"},
		{"null", nil, "the argument must be an object"},
		{"a list", []any{lines}, "the argument must be an object"},
		{"a capability", stub, "the argument must be an object"},
		{"no fields", object(), "workspace must be present"},
		{"another case", object("Workspace", "w"), "workspace must be present"},
		{"undefined", with(lines, "gadget", capnweb.Undefined{}), "gadget must be present"},
		{"null for a text", with(lines, "gadget", nil), "gadget must be a text"},
		{"number for a text", with(lines, "gadget", 7.0), "gadget must be a text"},
		{"object for a text", with(lines, "gadget", object("toString", "x")), "gadget must be a text"},
		{"text for a list", with(lines, "lines", "x"), "lines must be a list"},
		{"object for a list", with(lines, "lines", object("length", 1e9)), "lines must be a list"},
		{"null in a list", with(lines, "lines", []any{nil}), "lines[0] must be an object"},
		{"text for a number", inLine("time", "1"), "lines[1].time must be a whole number"},
		{"fraction", inLine("time", 1.5), "lines[1].time must be a whole number"},
		{"infinite", inLine("time", math.Inf(1)), "lines[1].time must be a whole number"},
		{"no number", inLine("time", math.NaN()), "lines[1].time must be a whole number"},
		{"too large", inLine("time", 1e300), "lines[1].time must be a whole number"},
		{"true for a number", inLine("time", true), "lines[1].time must be a whole number"},
		{"a capability for a text", inLine("text", stub), "lines[1].text must be a text"},
	} {
		var into reportLines
		err := Decode(c.from, &into)
		var p *overseer.Problem
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (!errors.As(err, &p) || p.Kind != "bad-argument" || !strings.HasPrefix(p.Why, c.want)):
			t.Errorf("%s: %v, not %q", c.name, err, c.want)
		}
	}
	var w watchState
	for _, from := range []any{nil, "x", object(), capnweb.Undefined{}} {
		if err := Decode(object("onState", from), &w); err == nil {
			t.Errorf("%v passed as a callback", from)
		}
	}
	if err := Decode(object("onState", stub), &w); err != nil || w.OnState != stub {
		t.Errorf("a callback: %v", err)
	}
	var gadget Gadget
	if err := Decode(object("id", "x", "headless", "yes"), &gadget); err == nil {
		t.Error("a text passed for a truth")
	}
}
