package capnweb

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// goText matches what must never reach a peer.
var goText = regexp.MustCompile(`interface conversion|runtime error|invalid memory|nil pointer|goroutine |\.go:|strconv|encoding/|map\[|%!`)

// hostile sends frames to a fresh server and returns the text of its abort, "" if it lives.
func hostile(t *testing.T, o *Options, frames ...string) string {
	t.Helper()
	a, b := Pipe()
	srv := &server{}
	s := NewSession(b, srv.target(), o)
	defer s.Close()
	for _, f := range frames {
		if a.Send([]byte(f)) != nil {
			break
		}
	}
	_ = a.Send([]byte(`["push",["pipeline",0,["square"],[9]]]`))
	deadline, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	ended := false
	go func() { // the server is alive when it has read everything
		for !ended && s.Err() == nil && s.Stats().Received <= int64(len(frames)) {
			time.Sleep(100 * time.Microsecond)
			if deadline.Err() != nil {
				return
			}
		}
		if s.Err() == nil {
			cancel()
		}
	}()
	for {
		msg, err := a.Receive(deadline)
		if err != nil {
			if s.Err() == nil && !strings.Contains(err.Error(), "canceled") {
				t.Fatalf("the server hangs: %v", err)
			}
			return ""
		}
		if goText.Match(msg) {
			t.Errorf("the peer sees Go text: %s", msg)
		}
		if text, ok := strings.CutPrefix(string(msg), `["abort",["error","TypeError","`); ok {
			return strings.TrimSuffix(text, `"]]`)
		}
		if strings.HasPrefix(string(msg), `["abort"`) {
			return string(msg)
		}
	}
}

const (
	badJSON  = "bad RPC message: not valid JSON"
	badMsg   = "bad RPC message"
	badValue = "bad RPC message: unknown special value"
	badID    = "bad RPC message: an id must be a whole number"
	badPath  = "bad RPC message: a path must be a list of names and indexes"
)

func TestHostileFrames(t *testing.T) {
	push := func(expr string) string { return `["push",["pipeline",0,["echo"],[` + expr + `]]]` }
	cases := []struct{ frame, want string }{
		{``, badJSON}, {`[`, badJSON}, {`{`, badJSON}, {`nul`, badJSON}, {`[1 2]`, badJSON}, {`["a"]]`, badJSON},
		{`["push",01]`, badJSON}, {`["push",1.]`, badJSON}, {`["push",-]`, badJSON}, {`["push",1e]`, badJSON},
		{"[\"push\",\"a\nb\"]", badJSON}, {`["push","\x"]`, badJSON}, {`["push","\u12"]`, badJSON}, {"[\"push\",\"\xff\"]", badJSON},
		{`["push",{"a"}]`, badJSON}, {`["push",{1:2}]`, badJSON}, {`["push",+1]`, badJSON}, {`["push",NaN]`, badJSON},
		{`null`, badMsg}, {`{}`, badMsg}, {`[]`, badMsg}, {`[1]`, badMsg}, {`["bogus"]`, badMsg}, {`["bogus",1]`, badMsg},
		{`["push"]`, badMsg}, {`["push",1,2]`, badMsg}, {`["pull"]`, badMsg}, {`["pipe",1]`, badMsg}, {`["resolve",1]`, badMsg},
		{`["release",1]`, badMsg}, {`["release"]`, badMsg}, {`[["push"],1]`, badMsg},
		{`["pull","1"]`, badID}, {`["pull",1.5]`, badID}, {`["pull",null]`, badID}, {`["pull",1e300]`, badID},
		{`["release",1,"x"]`, badID}, {`["release",null,1]`, badID}, {`["resolve",{},1]`, badID},
		{`["pull",7]`, "bad RPC message: no such export to pull"},
		{`["pull",-7]`, "bad RPC message: no such export to pull"},
		{`["release",7,1]`, "bad RPC message: no such export to release"},
		{`["release",0,1]`, "bad RPC message: no such export to release"},
		{`["push",["pipeline",9,["x"],[]]]`, "no such entry on exports table: 9"},
		{`["push",["import",-9]]`, "no such entry on exports table: -9"},
		{`["push",["pipeline"]]`, badValue}, {`["push",["pipeline",0,[],[],1]]`, badValue},
		{`["push",["pipeline",0,["echo"],5]]`, badValue}, {`["push",["pipeline","0",["echo"],[]]]`, badID},
		{`["push",["pipeline",0,"echo",[]]]`, badPath}, {`["push",["pipeline",0,[null],[]]]`, badPath},
		{`["push",["pipeline",0,[1.5],[]]]`, badPath}, {`["push",["pipeline",0,[{}]]]`, badPath},
		{push(`[]`), badValue}, {push(`[1]`), badValue}, {push(`["what"]`), badValue}, {push(`["what",1]`), badValue},
		{push(`[null,1]`), badValue}, {push(`[[1],2]`), badValue}, {push(`["undefined",1]`), badValue},
		{push(`["bigint",5]`), badValue}, {push(`["bigint",""]`), badValue}, {push(`["bigint","-"]`), badValue},
		{push(`["bigint","0x10"]`), badValue}, {push(`["bigint","1_0"]`), badValue}, {push(`["bigint","+1"]`), badValue},
		{push(`["bigint","` + strings.Repeat("1", 16385) + `"]`), "Deserialized bigint exceeds maximum length of 16384 digits"},
		{push(`["date","x"]`), badValue}, {push(`["date"]`), badValue}, {push(`["date",{}]`), badValue},
		{push(`["bytes",1]`), badValue}, {push(`["bytes","*"]`), "bad RPC message: invalid bytes"},
		{push(`["bytes","AAA","Float32Array"]`), "bad RPC message: invalid bytes"},
		{push(`["bytes","AAAA","Nope"]`), "bad RPC message: invalid bytes"}, {push(`["bytes","AAAA",1]`), "bad RPC message: invalid bytes"},
		{push(`["error"]`), badValue}, {push(`["error",1,2]`), badValue}, {push(`["error","E","m",null,[]]`), badValue},
		{push(`["error","E","m",null,5]`), badValue}, {push(`["error","E","m",null,{},1]`), badValue},
		{push(`["url",1]`), badValue}, {push(`["url"]`), badValue}, {push(`["headers",{}]`), badValue},
		{push(`["headers",[["a"]]]`), badValue}, {push(`["headers",[["a",1]]]`), badValue}, {push(`["headers",["ab"]]`), badValue},
		{push(`["export",1]`), badID}, {push(`["export",0]`), badID}, {push(`["promise",5]`), badID}, {push(`["export","x"]`), badID},
		{push(`["export"]`), badValue}, {push(`["writable",3]`), badID},
		{push(`[[["promise",-1],["promise",-1]]]`), "bad RPC message: a promise reuses an id"},
		{push(`[[["export",-1],["promise",-1]]]`), "bad RPC message: a promise reuses an id"},
		{push(`["readable",0]`), "bad RPC message: not a pipe, or its readable end was already consumed"},
		{push(`["readable",5]`), "bad RPC message: not a pipe, or its readable end was already consumed"},
		{push(`["blob",1,2]`), badValue}, {push(`["blob","t",["readable",1],1]`), badValue}, {push(`["request","u",5]`), badValue},
		{push(`["response",["what"],{}]`), badValue},
		{`["push",["remap",0]]`, badValue}, {`["push",["remap",0,[],5,[]]]`, badValue}, {`["push",["remap",0,[],[5],[1]]]`, badValue},
		{`["push",["remap",0,[],[["bogus",1]],[1]]]`, badValue}, {`["push",["remap",0,[],[["import",9]],[1]]]`, "no such entry on exports table: 9"},
		{`["push",["remap",0,5,[],[1]]]`, badPath}, {`["push",["remap",77,[],[],[1]]]`, "no such entry on exports table: 77"},
		{strings.Repeat("[", 100_000), "bad RPC message: nested too deeply"},
		{`["push",` + strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300) + `]`, "Deserialization exceeded maximum allowed message depth"},
		{`["push",` + strings.Repeat(`[[`, 257) + strings.Repeat("]]", 257) + `]`, "Deserialization exceeded maximum allowed message depth"},
	}
	for i, c := range cases {
		if got := hostile(t, nil, c.frame); got != c.want {
			t.Errorf("case %d %.80s\n  aborts with %q\n  want        %q", i, c.frame, got, c.want)
		}
	}
}

func TestHostileSequences(t *testing.T) {
	push := `["push",["pipeline",0,["square"],[5]]]`
	if got := hostile(t, nil, push, `["release",1,-1]`); got != "bad RPC message: refcount would go negative" {
		t.Errorf("negative count: %q", got)
	}
	if got := hostile(t, nil, push, `["release",1,2]`); got != "bad RPC message: refcount would go negative" {
		t.Errorf("count too large: %q", got)
	}
	if got := hostile(t, nil, push, `["release",1,1]`, `["release",1,1]`); got != "bad RPC message: no such export to release" {
		t.Errorf("released twice: %q", got)
	}
	cb := `["push",["pipeline",0,["keep"],[["export",-1]]]]`
	if got := hostile(t, nil, cb, `["resolve",-1,5]`); got != badMsg {
		t.Errorf("a stub was resolved: %q", got)
	}
	// Harmless: repeated pulls, resolutions of unknown ids, pulls of failed pipelines.
	if got := hostile(t, nil, push, `["pull",1]`, `["pull",1]`, `["resolve",99,["export",-5]]`, `["reject",98,1]`); got != "" {
		t.Errorf("legal frames: %q", got)
	}
	if got := hostile(t, nil, `["push",["pipeline",0,["nope"],[]]]`, `["push",["pipeline",1,["x"],[]]]`, `["pull",2]`); got != "" {
		t.Errorf("a failed pipeline: %q", got)
	}
}

func TestLimits(t *testing.T) {
	slow := `["push",["pipeline",0,["square"],[["promise",-%d]]]]`
	var frames []string
	for i := range 20 {
		frames = append(frames, fmt.Sprintf(slow, i+1))
	}
	cases := []struct {
		name   string
		o      Options
		frames []string
		want   string
	}{
		{"message", Options{MaxMessage: 50}, []string{`["push","` + strings.Repeat("x", 50) + `"]`}, "incoming message exceeds the maximum size"},
		{"calls", Options{MaxCalls: 10}, frames, "too many calls are in flight"},
		{"exports", Options{MaxExports: 10}, frames, "too many calls are in flight"},
		{"imports", Options{MaxImports: 10}, frames, "too many objects are imported from the peer"},
		{"held", Options{MaxHeld: 5000}, []string{strings.Replace(fmt.Sprintf(slow, 1), "square", strings.Repeat("x", 3000), 1),
			strings.Replace(fmt.Sprintf(slow, 2), "square", strings.Repeat("x", 3000), 1)}, "too much data is held by calls in flight"},
		{"depth", Options{MaxDepth: 10}, []string{`["push",` + strings.Repeat(`{"a":`, 11) + "1" + strings.Repeat("}", 11) + `]`},
			"Deserialization exceeded maximum allowed message depth"},
		{"depth of text", Options{MaxDepth: 10}, []string{strings.Repeat(`[`, 40)}, "bad RPC message: nested too deeply"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := hostile(t, &c.o, c.frames...); got != c.want {
				t.Errorf("ended with %q, want %q", got, c.want)
			}
			c.o = Options{}
			if c.name != "depth of text" {
				if got := hostile(t, nil, c.frames...); got != "" {
					t.Errorf("without the limit it ended with %q", got)
				}
			}
		})
	}
}

func TestTooManyResultStubs(t *testing.T) {
	got := hostile(t, &Options{MaxExports: 12}, `["push",["pipeline",0,["generateFibonacci"],[40]]]`,
		`["push",["remap",1,[],[["import",0]],[["pipeline",-1,["makeCounter"],[1]]]]]`, `["pull",2]`)
	if got != "too many objects are exported to the peer" {
		t.Errorf("ended with %q", got)
	}
}

// A million calls pipelined on a call that never ends stop at the limit.
func TestMillionPipelinedCalls(t *testing.T) {
	a, b := Pipe()
	s := NewSession(b, (&server{}).target(), nil)
	defer s.Close()
	_ = a.Send([]byte(`["push",["pipeline",0,["square"],[["promise",-1]]]]`))
	for i := range 1_000_000 {
		if a.Send(fmt.Appendf(nil, `["push",["pipeline",%d,["x"],[]]]`, i+1)) != nil {
			break
		}
	}
	select {
	case <-s.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the server hangs")
	}
	if s.Err() != errTooManyCalls {
		t.Errorf("ended with %v", s.Err())
	}
}

// A long chain of promises settles without overflowing the stack.
func TestLongChain(t *testing.T) {
	a, b := Pipe()
	s := NewSession(b, (&server{}).target(), nil)
	defer s.Close()
	_ = a.Send([]byte(`["push",["pipeline",0,["echo"],[["promise",-1]]]]`))
	const n = 60_000
	for i := range n {
		_ = a.Send(fmt.Appendf(nil, `["push",["pipeline",%d]]`, i+1))
	}
	_ = a.Send(fmt.Appendf(nil, `["pull",%d]`, n+1))
	_ = a.Send([]byte(`["resolve",-1,"end"]`))
	w := newWire(t, a)
	w.expect(fmt.Sprintf(`["resolve",%d,"end"]`, n+1))
}

func TestMapIsBounded(t *testing.T) {
	list := "[[" + strings.TrimSuffix(strings.Repeat("1,", 1000), ",") + "]]"
	a, b := Pipe()
	s := NewSession(b, (&server{}).target(), &Options{MaxMap: 50_000})
	defer s.Close()
	w := newWire(t, a)
	w.send(`["push",["pipeline",0,["echo"],[` + list + `]]]`)
	// For each element the whole list is mapped again, and again.
	w.send(`["push",["remap",1,[],[["import",1]],[["remap",-1,[],[["import",-1]],[["remap",-1,[],[],[0]]]]]]]`)
	w.send(`["pull",2]`)
	w.expect(`["reject",2,["error","Error","map() evaluates too many values"]]`)
	w.send(`["push",["remap",1,[],[],[]]]`)
	w.send(`["pull",3]`)
	w.expect(`["reject",3,["error","Error","Invalid empty mapper function."]]`)
	w.send(`["push",["remap",1,[],[],[["export",-1]]]]`)
	w.send(`["pull",4]`)
	w.expect(`["reject",4,["error","Error","A mapper function cannot refer to exports"]]`)
}

// The values of dropped keys are evaluated, so that stubs in them are released.
func TestReservedKeys(t *testing.T) {
	a, b := Pipe()
	s := NewSession(b, (&server{}).target(), nil)
	defer s.Close()
	w := newWire(t, a)
	w.send(`["push",["pipeline",0,["echo"],[{"__proto__":["export",-1],"toJSON":{"valueOf":["export",-2]},"ok":2}]]]`)
	w.send(`["pull",1]`)
	w.expect(`["release",-1,1]`)
	w.expect(`["release",-2,1]`)
	w.expect(`["resolve",1,{"ok":2}]`)
	w.nothingElse()
}

// A peer that never reads does not fill the memory.
func TestSlowPeer(t *testing.T) {
	release := make(chan struct{})
	tr := &stuckTransport{block: release}
	s := NewSession(tr, nil, &Options{MaxQueue: 1 << 20})
	m := s.Main()
	go m.Call(context.Background(), "x", strings.Repeat("x", 1<<10))
	for !tr.stuck() {
		time.Sleep(time.Millisecond)
	}
	for range 5000 {
		m.Call(context.Background(), "x", strings.Repeat("x", 1<<10))
	}
	close(release)
	<-s.Done()
	if s.Err() != errQueueFull {
		t.Errorf("ended with %v", s.Err())
	}
}
