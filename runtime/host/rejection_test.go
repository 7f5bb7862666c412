package host

import (
	"regexp"
	"testing"
	"time"
)

// TestRejectionsAreTold: a promise that fails with nobody to handle it is one line of the console, with the gadget's own file
// and line, and the gadget goes on; one that is handled in time is none.
func TestRejectionsAreTold(t *testing.T) {
	lines := make(chan Line, 10)
	s := spec(`import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject {
	lost() { Promise.reject(new RangeError("lost")); return 1 }
	async handled() { const p = Promise.reject(new Error("handled")); await null; try { await p } catch { return 2 } }
	say(text) { console.log(text); return 3 }
}`)
	s.Console = func(l Line) { lines <- l }
	i := startReal(t, startChild(t, realConfig()), s)
	for _, call := range [][]any{{"lost"}, {"handled"}, {"say", "over"}} {
		if _, err := await(t, i.Main().Call(t.Context(), call[0].(string), call[1:]...)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // what is told is told in a turn of its own
	}
	want := []*regexp.Regexp{regexp.MustCompile(`^a promise failed, and nobody handled that: RangeError: lost\n +at lost \(server\.js:3:\d+\)$`), regexp.MustCompile("^over$")}
	for _, w := range want {
		select {
		case l := <-lines:
			if !w.MatchString(l.Text) {
				t.Errorf("a line is %q, it should match %s", l.Text, w)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no line matches %s", w)
		}
	}
	select {
	case l := <-lines:
		t.Errorf("one line too many: %q", l.Text)
	default:
	}
}
