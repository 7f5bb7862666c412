package capnweb

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// wire is the bare end of a pipe whose other end is a session under test.
type wire struct {
	t       *testing.T
	end     Transport
	pending []string
	known   map[string]bool // negative ids introduced so far
}

func newWire(t *testing.T, end Transport) *wire {
	return &wire{t: t, end: end, known: map[string]bool{}}
}

func (w *wire) send(frame string) {
	w.t.Helper()
	if err := w.end.Send([]byte(frame)); err != nil {
		w.t.Fatalf("send: %v", err)
	}
}

// receive returns the next message, "" if none comes in time.
func (w *wire) receive(wait time.Duration) string {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	msg, err := w.end.Receive(ctx)
	if err != nil {
		return ""
	}
	w.checkIntroduced(string(msg))
	return string(msg)
}

// checkIntroduced fails on a resolution that comes before the message with the promise.
func (w *wire) checkIntroduced(msg string) {
	for _, kind := range []string{`["resolve",-`, `["reject",-`} {
		if rest, ok := strings.CutPrefix(msg, kind); ok {
			if id, _, _ := strings.Cut(rest, ","); !w.known[id] {
				w.t.Errorf("%s came before the promise was introduced", msg)
			}
		}
	}
	for _, part := range strings.Split(msg, `["promise",-`)[1:] {
		id, _, _ := strings.Cut(part, "]")
		w.known[id] = true
	}
}

// expect waits for one message; others that come first are kept for later expectations.
func (w *wire) expect(frame string) {
	w.t.Helper()
	for i, p := range w.pending {
		if p == frame {
			w.pending = append(w.pending[:i], w.pending[i+1:]...)
			return
		}
	}
	for {
		got := w.receive(2 * time.Second)
		if got == "" {
			w.t.Fatalf("missing %s\n  others: %s", frame, strings.Join(w.pending, "\n          "))
		}
		if got == frame {
			return
		}
		w.pending = append(w.pending, got)
	}
}

func (w *wire) nothingElse() {
	w.t.Helper()
	if got := w.receive(5 * time.Millisecond); got != "" {
		w.pending = append(w.pending, got)
	}
	if len(w.pending) > 0 {
		w.t.Errorf("unexpected messages:\n  %s", strings.Join(w.pending, "\n  "))
	}
}

type transcript struct {
	name, verdict string
	keeps         int // references the recorded client had not released
	lines         []string
}

func transcripts(t *testing.T) []transcript {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []transcript
	for _, section := range strings.Split("\n"+string(text), "\n## ")[1:] {
		lines := strings.Split(strings.TrimSpace(section), "\n")
		name, verdict, _ := strings.Cut(lines[0], " | ")
		tr := transcript{name: name, verdict: verdict, lines: lines[1:]}
		if before, n, ok := strings.Cut(verdict, ", keeps "); ok {
			tr.verdict = before
			if tr.keeps, err = strconv.Atoi(n); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, tr)
	}
	return out
}

// TestGoldenServer plays the client's part of every transcript to a server.
func TestGoldenServer(t *testing.T) {
	all := transcripts(t)
	if len(all) < 18 {
		t.Fatalf("only %d transcripts", len(all))
	}
	for _, tr := range all {
		t.Run(tr.name, func(t *testing.T) {
			if tr.verdict != "same" && tr.verdict != "refuses" {
				t.Fatalf("unknown verdict %q", tr.verdict)
			}
			a, b := Pipe()
			srv := &server{}
			s := NewSession(b, srv.target(), nil)
			w := newWire(t, a)
			for _, line := range tr.lines {
				if frame, ok := strings.CutPrefix(line, "C> "); ok {
					w.send(frame)
				} else if frame, ok := strings.CutPrefix(line, "S> "); ok {
					w.expect(frame)
				} else if line != "" {
					t.Fatalf("odd line %q", line)
				}
			}
			w.nothingElse()
			want := Stats{Exports: 1 + tr.keeps, Imports: 1}
			if !eventually(func() bool { st := s.Stats(); return st.Exports == want.Exports && st.Imports == want.Imports }) {
				t.Errorf("after the transcript the tables hold %+v, want %+v", s.Stats(), want)
			}
			s.Close()
			<-s.Done()
			if !eventually(func() bool { return srv.live.Load() == 0 }) {
				t.Errorf("%d counters outlived the session", srv.live.Load())
			}
		})
	}
}

// TestGoldenClient compares what this client sends with what the official one sent.
func TestGoldenClient(t *testing.T) {
	type script func(ctx context.Context, main *Stub) error
	await := func(ctx context.Context, p *Promise) error { _, err := p.Await(ctx); return err }
	scripts := map[string]script{
		"simple call": func(ctx context.Context, m *Stub) error { return await(ctx, m.Call(ctx, "square", 5)) },
		"call without await (no pull), then dispose": func(ctx context.Context, m *Stub) error {
			m.Call(ctx, "square", 5).Dispose()
			return nil
		},
		"pipelining: makeCounter(4).inc(2)": func(ctx context.Context, m *Stub) error {
			return await(ctx, m.Call(ctx, "makeCounter", 4).Call(ctx, "inc", 2))
		},
		"returned stub, call, property get, dispose": func(ctx context.Context, m *Stub) error {
			v, err := m.Call(ctx, "makeCounter", 4).Await(ctx)
			if err != nil {
				return err
			}
			c := v.(*Stub)
			defer c.Dispose()
			if err := await(ctx, c.Call(ctx, "inc")); err != nil {
				return err
			}
			return await(ctx, c.GetPath(ctx, []any{"value"}))
		},
		"callback (client exports function)": func(ctx context.Context, m *Stub) error {
			f := Func(func(_ context.Context, a []any) (any, error) { return a[0].(float64) + 1, nil })
			return await(ctx, m.Call(ctx, "callFn", f))
		},
		"promise passed as argument (rpc promise)": func(ctx context.Context, m *Stub) error {
			return await(ctx, m.Call(ctx, "square", m.Call(ctx, "square", 3)))
		},
	}
	played := 0
	for _, tr := range transcripts(t) {
		run := scripts[tr.name]
		if run == nil {
			continue
		}
		played++
		t.Run(tr.name, func(t *testing.T) {
			a, b := Pipe()
			c := NewSession(a, nil, nil)
			defer c.Close()
			w := newWire(t, b)
			done := make(chan error, 1)
			go func() {
				m := c.Main()
				defer m.Dispose()
				done <- run(t.Context(), m)
			}()
			for _, line := range tr.lines {
				if frame, ok := strings.CutPrefix(line, "C> "); ok {
					w.expect(frame)
				} else {
					w.send(strings.TrimPrefix(line, "S> "))
				}
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
			w.nothingElse()
		})
	}
	if played != len(scripts) {
		t.Errorf("%d of %d scripts found their transcript", played, len(scripts))
	}
}

// A peer that lends one object twice under one id gets both references back.
func TestReleaseCountsIntroductions(t *testing.T) {
	a, b := Pipe()
	s := NewSession(b, (&server{}).target(), nil)
	defer s.Close()
	w := newWire(t, a)
	w.send(`["push",["pipeline",0,["returnNull"],[[[["export",-1],["export",-1]]]]]]`)
	w.expect(`["release",-1,2]`)
	w.nothingElse()
}

// While a message that names an import is being written, no release of it may overtake it.
func TestReleaseWaitsForTheMessageThatNamesTheId(t *testing.T) {
	a, b := Pipe()
	s := NewSession(b, nil, nil)
	defer s.Close()
	w := newWire(t, a)
	h, err := s.importStub(-1)
	if err != nil {
		t.Fatal(err)
	}
	st := &Stub{h: h}
	e := encoder{s: s}
	if err := e.value(st, 0); err != nil || string(e.buf) != `["import",-1]` {
		t.Fatal(string(e.buf), err)
	}
	st.Dispose()
	w.nothingElse()
	e.unpin()
	w.expect(`["release",-1,1]`)
}

// The result of a call released before it was known is not sent, nor are stubs in it lent.
func TestReleasedCallIsNotAnswered(t *testing.T) {
	a, b := Pipe()
	gone := make(chan bool, 1)
	p, resolve, _ := NewPromise()
	s := NewSession(b, Methods{"later": func(context.Context, []any) (any, error) { return p, nil }}, nil)
	defer s.Close()
	w := newWire(t, a)
	w.send(`["push",["pipeline",0,["later"],[]]]`)
	w.send(`["pull",1]`)
	w.send(`["release",1,1]`)
	if !eventually(func() bool { return s.Stats().Received == 3 && s.Stats().Exports == 1 }) {
		t.Fatalf("got %+v", s.Stats())
	}
	resolve(&Table{OnDispose: func() { gone <- true }})
	<-gone
	w.nothingElse()
	if !eventually(func() bool { return atStart(s) }) {
		t.Errorf("the session holds %+v", s.Stats())
	}
}
