package command

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

const sums = `import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject {
  async add(n) { const sum = ((await this.ctx.storage.get("n")) ?? 0) + n; await this.ctx.storage.put("n", sum); return sum; }
  echo(...args) { return args; }
  all() { return { b: 1n, a: new Date(0), u: undefined, bytes: new Uint8Array([1, 2]), nan: NaN, inf: -Infinity, html: "<&>", e: new RangeError("no"), f: () => 1, n: null }; }
  fail() { throw new RangeError("on purpose"); }
  empty() { throw new Error(""); }
}`

func keys(t *testing.T, v any) string {
	t.Helper()
	object, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("%v is not an object", v)
	}
	return strings.Join(slices.Sorted(maps.Keys(object)), " ")
}

// The shapes are part of the program's interface: what scripts read keeps its name.
func TestTheShapesOfJSON(t *testing.T) {
	s := newTerminal(t)
	var any1 map[string]any
	s.must(&any1, "list")
	if keys(t, any1) != "workspaces" || len(any1["workspaces"].([]any)) != 0 {
		t.Errorf("an empty list is %v", any1)
	}
	var new1 map[string]any
	s.must(&new1, "new", "--blueprint", "board", "--title", "Plans")
	if keys(t, new1) != "gadget workspace" {
		t.Errorf("new printed %v", new1)
	}
	var list map[string]any
	s.must(&list, "list")
	workspace := list["workspaces"].([]any)[0].(map[string]any)
	gadget := workspace["gadgets"].([]any)[0].(map[string]any)
	if workspace["id"] != new1["workspace"] || gadget["id"] != new1["gadget"] || workspace["title"] != "Plans" || gadget["title"] != "Plans" {
		t.Errorf("list printed %v", list)
	}
	if keys(t, workspace) != "created gadgets id opened title" || keys(t, gadget) != "blueprint headless id status title views" {
		t.Errorf("the fields are %s and %s", keys(t, workspace), keys(t, gadget))
	}
	var version map[string]any
	s.must(&version, "version")
	if keys(t, version) != "build go window" || version["build"] != testBuild {
		t.Errorf("version printed %v", version)
	}
	var checks struct{ Checks []map[string]any }
	s.must(&checks, "check")
	for _, c := range checks.Checks {
		if keys(t, c) != "detail name ok" || c["ok"] != true || c["name"] == "" || c["detail"] == "" {
			t.Errorf("check printed %v", c)
		}
	}
	if len(checks.Checks) < 4 {
		t.Errorf("there are %d checks", len(checks.Checks))
	}
}

func TestFlagsAnywhere(t *testing.T) {
	s := newTerminal(t)
	m := s.gadget(sums)
	for _, args := range [][]string{
		{"--json", "--data", s.data, "list"}, {"list", "--json", "--data", s.data}, {"--data", s.data, "list", "--json"}, {"-data=" + s.data, "list", "-json"}, {"--json=true", "list", "--data=" + s.data},
	} {
		if got := s.runExactly(args...); got.code != exitOK || !strings.HasPrefix(got.out, "{") || !strings.Contains(got.out, m.Gadget) {
			t.Errorf("%v: %d %s%s", args, got.code, got.out, got.errors)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"call", m.Gadget, "echo", "1", `"two"`, "--json", "[3]"}, `[1,"two",[3]]`},
		{[]string{"call", "--data", s.data, m.Gadget, "--json", "echo"}, `[]`},
		{[]string{"call", m.Gadget, "echo", "-1", "-2.5e3"}, `[-1,-2500]`},
		{[]string{"--data", s.data, "call", "--", m.Gadget, "echo", "-1", "true"}, `[-1,true]`},
		{[]string{"call", "--data", s.data, m.Gadget, "echo", "--", `{"b":[null],"a":"<&>"}`}, `[{"a":"<&>","b":[null]}]`},
	} {
		if !slices.Contains(c.args, "--data") {
			c.args = append(c.args, "--data", s.data)
		}
		got := s.runExactly(c.args...)
		if got.code != exitOK || compact(got.out) != c.want {
			t.Errorf("%v: %d %s%s", c.args, got.code, got.out, got.errors)
		}
	}
	t.Setenv("TOOLSHED_DATA", s.data)
	if got := s.runExactly("list"); !strings.Contains(got.out, m.Gadget) {
		t.Errorf("with TOOLSHED_DATA: %d %s%s", got.code, got.out, got.errors)
	}
}

func compact(text string) string {
	return strings.NewReplacer("\n", "", " ", "").Replace(text)
}

func TestCommandsThatAreNotUnderstood(t *testing.T) {
	s := newTerminal(t)
	for _, args := range [][]string{
		{"nothing"}, {""}, {"List"}, {"list", "x"}, {"list", "--port", "1"}, {"--port"}, {"--bogus"}, {"--bogus", "list"}, {"open", "x"}, {"check", "x"},
		{"new"}, {"new", "board"}, {"new", "--blueprint"}, {"new", "--blueprint", "board", "extra"},
		{"call"}, {"call", "Board"}, {"call", "Board", "m", "{"}, {"call", "Board", "m", "'x'"}, {"call", "Board", "m", ""}, {"call", "Board", "m", "1 2"}, {"call", "Board", "m", "undefined"}, {"call", "Board", "m", "1e999"}, {"call", "Board", "m", "-x"},
		{"serve", "x"}, {"serve", "--port", "x"}, {"serve", "--port", "65536"}, {"serve", "--port", "-1"},
	} {
		got := s.runExactly(append([]string{"--json"}, args...)...)
		if got.code != exitUsage || got.out != "" || len(got.errors) < 20 || strings.Count(got.errors, "\n") != 1 {
			t.Errorf("%q: %d %q %q", args, got.code, got.out, got.errors)
		}
	}
	if _, err := os.Stat(s.data); err == nil {
		t.Error("a command that was not understood made a data folder")
	}
	for _, args := range [][]string{{"help"}, {"-h"}, {"--help"}, {"list", "--help"}, {"call", "-h"}, {"--json", "--help"}} {
		if got := s.runExactly(args...); got.code != exitOK || !strings.Contains(got.out, "Usage") || got.errors != "" {
			t.Errorf("%q: %d %q", args, got.code, got.errors)
		}
	}
	help := s.runExactly("help").out
	for _, c := range commands() {
		if !strings.Contains(help, "\n  "+c.name) {
			t.Errorf("help lacks %s", c.name)
		}
	}
}

func TestWhatIsUnknown(t *testing.T) {
	s := newTerminal(t)
	m := s.gadget(sums, "--title", "Same")
	s.gadget(sums, "--title", "same", "--workspace", m.Workspace)
	s.refused(exitUnknown, "no-gadget-here", "call", "Nothing", "add", "1")
	s.refused(exitUnknown, "no-gadget-here", "call", "", "add")
	s.refused(exitUnknown, "no-gadget-here", "call", "../"+m.Gadget, "add")
	s.refused(exitUnknown, "ambiguous", "call", "Same", "add", "1")
	s.refused(exitUnknown, "no-method", "call", m.Gadget, "absent")
	s.refused(exitUnknown, "no-method", "call", m.Gadget, "constructor")
	s.refused(exitUnknown, "no-method", "call", m.Gadget, "__proto__", "1")
	s.refused(exitUnknown, "no-blueprint", "new", "--blueprint", "nothing")
	s.refused(exitUnknown, "no-blueprint", "new", "--blueprint", "Board")
	s.refused(exitUnknown, "no-blueprint", "new", "--blueprint", "../board")
	s.refused(exitUnknown, "no-workspace", "new", "--blueprint", "board", "--workspace", "nothing")
	s.refused(exitFailed, "title", "new", "--blueprint", "board", "--title", "two\nlines")
	if got := s.run("call", m.Gadget, "add", "1"); got.code != exitOK || got.out != "1\n" {
		t.Errorf("after all that: %d %s%s", got.code, got.out, got.errors)
	}
	if got := s.run("call", "board", "snapshot"); got.code != exitUnknown {
		t.Errorf("there are %d gadgets too many: %s", got.code, got.out)
	}
}

func TestWhatAGadgetThrows(t *testing.T) {
	s := newTerminal(t)
	m := s.gadget(sums)
	for method, why := range map[string]string{"fail": "RangeError: on purpose", "empty": ""} {
		got := s.run("call", m.Gadget, method)
		if got.code != exitThrown || got.out != "" || !strings.Contains(got.errors, why) || strings.Contains(got.errors, "Why: .") {
			t.Errorf("%s: %d %s%s", method, got.code, got.out, got.errors)
		}
		var printed struct{ Error struct{ Kind, Why string } }
		inJSON := s.run("--json", "call", m.Gadget, method)
		if err := json.Unmarshal([]byte(inJSON.out), &printed); err != nil || inJSON.code != exitThrown || printed.Error.Kind != "thrown" || !strings.Contains(printed.Error.Why, why) {
			t.Errorf("%s --json: %d %s", method, inJSON.code, inJSON.out)
		}
	}
	s2 := s.gadget("export class Gadget {", "--title", "Broken")
	s.refused(exitFailed, "syntax", "call", s2.Gadget, "x")
	s3 := s.gadget("export class Other {}", "--title", "Nothing in it")
	s.refused(exitFailed, "no-gadget", "call", s3.Gadget, "x")
}

func TestResultsThatJSONHasNoFormFor(t *testing.T) {
	s := newTerminal(t)
	m := s.gadget(sums)
	got := s.run("call", m.Gadget, "all")
	want := `{"b":"1","a":"1970-01-01T00:00:00Z","u":null,"bytes":"AQI=","nan":null,"inf":null,"html":"<&>","e":{"message":"no","name":"RangeError"},"f":{"capability":true},"n":null}`
	if got.code != exitOK || compact(got.out) != want {
		t.Errorf("%d %s%s", got.code, got.out, got.errors)
	}
	if !json.Valid([]byte(got.out)) {
		t.Error("it is not JSON")
	}
}

func TestListForPeople(t *testing.T) {
	s := newTerminal(t)
	if got := s.run("list"); got.code != exitOK || !strings.Contains(got.out, "no workspaces") {
		t.Errorf("%d %s%s", got.code, got.out, got.errors)
	}
	m := s.gadget(sums, "--title", "Sums & <b>")
	got := s.run("list")
	for _, want := range []string{m.Workspace, m.Gadget, "Sums & <b>", "idle"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("the list lacks %s:\n%s", want, got.out)
		}
	}
	if got := s.run("new", "--blueprint", "board"); got.code != exitOK || !strings.HasPrefix(got.out, "Made gadget ") {
		t.Errorf("%d %s%s", got.code, got.out, got.errors)
	}
}

// Commands of one person at the same time: each finds the folder free, or the program that another command has opened.
func TestCommandsAtTheSameTime(t *testing.T) {
	s := newTerminal(t)
	m := s.gadget(sums)
	const n = 8
	results := make(chan result3, n)
	for range n {
		go func() { results <- s.run("call", m.Gadget, "add", "1") }()
	}
	seen := map[string]bool{}
	for range n {
		got := <-results
		if got.code != exitOK {
			t.Errorf("%d %s%s", got.code, got.out, got.errors)
		}
		seen[got.out] = true
	}
	for i := 1; i <= n; i++ {
		if !seen[fmt.Sprintf("%d\n", i)] {
			t.Errorf("no call answered %d: %v", i, seen)
		}
	}
}
