package capnweb

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fixedTexts are all that a session may say when it aborts because of a damaged message. N stands for a number.
var fixedTexts = []string{
	badMsg, badValue, badID, badPath,
	"no such entry on exports table: N", "bad RPC message: no such export to pull", "bad RPC message: no such export to release",
	"bad RPC message: refcount would go negative", "bad RPC message: a promise reuses an id", "bad RPC message: invalid bytes",
	"bad RPC message: not a pipe, or its readable end was already consumed",
}

var anyNumber = regexp.MustCompile(`-?\d+`)

// damages gives every message that differs from a JSON value in one place: a part removed, doubled, or of another type.
func damages(v any) []any {
	others := []any{nil, true, 1.5, -1.0, 99.0, "x", []any{}, []any{[]any{}}, map[string]any{}, []any{"bogus", 1.0}}
	out := slices.Clone(others)
	switch v := v.(type) {
	case []any:
		for i := range v {
			for _, d := range damages(v[i]) {
				c := slices.Clone(v)
				c[i] = d
				out = append(out, c)
			}
			out = append(out, slices.Delete(slices.Clone(v), i, i+1), slices.Insert(slices.Clone(v), i, v[i]))
		}
	case map[string]any:
		for k := range v {
			for _, d := range append(damages(v[k]), "removed") {
				c := map[string]any{}
				for k2, x := range v {
					c[k2] = x
				}
				if c[k] = d; d == "removed" {
					delete(c, k)
				}
				out = append(out, c)
			}
		}
	}
	return out
}

// everyForm is a message for each form that the recorded transcripts do not have.
var everyForm = []string{
	`["push",["pipeline",0,["echo"],[["bigint","12"]]]]`, `["push",["pipeline",0,["echo"],[["date",5]]]]`, `["push",["pipeline",0,["echo"],[["bytes","AAAA","Uint8Array"]]]]`,
	`["push",["pipeline",0,["echo"],[["error","TypeError","m","stack",{"code":1}]]]]`, `["push",["pipeline",0,["echo"],[["url","https://a.b/"]]]]`,
	`["push",["pipeline",0,["echo"],[["headers",[["a","b"]]]]]]`, `["push",["pipeline",0,["echo"],[["inf"],["nan"],["-inf"],["undefined"]]]]`,
	`["push",["pipeline",0,["echo"],[["export",-1]]]]`, `["push",["pipeline",0,["echo"],[["promise",-1]]]]`, `["push",["pipeline",0,["echo"],[["writable",-1]]]]`,
	`["push",["pipeline",0,["echo"],[{"a":[[["date",1]]]}]]]`, `["push",["import",0]]`, `["push",["remap",0,[],[["import",0]],[["pipeline",0,["square"],[2]]]]]`,
	`["push",["pipeline",0,["echo"],[["request","https://a.b/",{"method":"POST","headers":[["a","b"]]}]]]]`, `["push",["pipeline",0,["echo"],[["response",null,{"status":204}]]]]`,
	`["pipe"]`, `["stream",["pipeline",0,["square"],[2]]]`, `["pull",1]`, `["release",1,1]`, `["resolve",-1,["date",1]]`, `["reject",-1,["error","Error","m"]]`, `["abort",["error","Error","m"]]`,
}

// Every recorded message and every form, damaged in every place after what came before it: the session takes it or aborts
// with one of its fixed texts, and holds nothing afterwards.
func TestDamagedMessages(t *testing.T) {
	seen, aborts := map[string]bool{}, map[string]int{}
	play := func(before []string, frame string) {
		var v any
		if err := json.Unmarshal([]byte(frame), &v); err != nil {
			t.Fatal(err)
		}
		for _, d := range damages(v) {
			text, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			if key := strings.Join(before, "") + string(text); !seen[key] {
				seen[key] = true
				if said := damaged(t, append(slices.Clone(before), string(text))); said != "" {
					aborts[said]++
				}
			}
		}
	}
	for _, tr := range transcripts(t) {
		var before []string
		for _, line := range tr.lines {
			if frame, ok := strings.CutPrefix(line, "C> "); ok && len(before) < 6 && len(frame) < 300 {
				play(before, frame)
				before = append(before, frame)
			}
		}
	}
	for _, frame := range everyForm {
		play([]string{`["push",["pipeline",0,["square"],[2]]]`}, frame)
	}
	for said, n := range aborts {
		if !slices.Contains(fixedTexts, said) {
			t.Errorf("%d times: %q is no fixed text", n, said)
		}
	}
	for _, text := range fixedTexts {
		if aborts[text] == 0 {
			t.Errorf("no damage made a session say %q", text)
		}
	}
	t.Logf("%d damaged messages, aborts: %v", len(seen), aborts)
}

// damaged plays frames to a server and returns what it says when it aborts, "" if it lives.
func damaged(t *testing.T, frames []string) string {
	t.Helper()
	a, b := Pipe()
	srv := &server{}
	s := NewSession(b, srv.target(), nil)
	for _, f := range frames {
		if a.Send([]byte(f)) != nil {
			break
		}
	}
	said, last := "", int64(len(frames))
	if !eventually(func() bool { return s.Err() != nil || s.Stats().Received >= last }) {
		t.Fatalf("the server hangs at %s", frames)
	}
	var err error
	if eventually(func() bool { err = s.Err(); return err != nil || s.Stats().Received >= last }); err != nil && !strings.HasPrefix(frames[len(frames)-1], `["abort"`) {
		said = anyNumber.ReplaceAllString(strings.TrimPrefix(err.Error(), "TypeError: "), "N")
	}
	s.Close()
	<-s.Done()
	for {
		msg, err := a.Receive(t.Context()) // it ends when the messages of the closed session do
		if err != nil {
			break
		}
		if goText.Match(msg) {
			t.Errorf("%s: the peer sees Go text: %s", frames, msg)
		}
	}
	if !eventually(func() bool { st := s.Stats(); return srv.live.Load() == 0 && st.Exports == 0 && st.Imports == 0 }) {
		t.Errorf("%s: the session holds %s, and %d counters live", frames, fmt.Sprintf("%+v", s.Stats()), srv.live.Load())
	}
	return said
}
