package capnweb

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// bounded starts a session with main and sends it frames.
func bounded(t *testing.T, main Target, o *Options, frames ...string) (*Session, *wire) {
	t.Helper()
	a, b := Pipe()
	s := NewSession(b, main, o)
	t.Cleanup(func() { s.Close(); <-s.Done() })
	for _, f := range frames {
		if a.Send([]byte(f)) != nil {
			break
		}
	}
	return s, newWire(t, a)
}

// endsWith fails the test unless s ends with the error.
func endsWith(t *testing.T, s *Session, want error) {
	t.Helper()
	select {
	case <-s.Done():
		if !errors.Is(s.Err(), want) {
			t.Errorf("ended with %v, want %v", s.Err(), want)
		}
	case <-time.After(2 * time.Second):
		t.Errorf("the session lives, want %v", want)
	}
}

func repeated(item string, n int) string {
	return "[[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]]"
}

// A map() stops at the first element that fails at once, and its error is short.
func TestMapStopsAtError(t *testing.T) {
	srv := &server{}
	name := strings.Repeat("é", 2000)
	_, w := bounded(t, srv.target(), nil, `["push",`+repeated("0", 100)+`]`,
		`["push",["remap",1,[],[["import",0]],[["pipeline",-1,["note"],[1]],["pipeline",-1,["`+name+`"],[]]]]]`, `["pull",2]`)
	w.expect(`["reject",2,["error","TypeError","'` + strings.Repeat("é", 100) + `...' is not a function."]]`)
	if srv.order == nil || len(srv.order) > 1 {
		t.Errorf("%d elements were evaluated", len(srv.order))
	}
	w.send(`["push",["pipeline",0,["echo"],[["undefined"]]]]`)
	w.send(`["push",["pipeline",3,["` + name + `"]]]`)
	w.send(`["pull",4]`)
	w.expect(`["reject",4,["error","TypeError","Cannot read properties of undefined (reading '` + strings.Repeat("é", 100) + `...')"]]`)
}

func TestPathsAreBounded(t *testing.T) {
	const want = "bad RPC message: a path is too long"
	parts := func(n int) string { return strings.TrimSuffix(strings.Repeat(`"a",`, n), ",") }
	wide := `"` + strings.Repeat("x", 4097) + `"`
	for _, f := range []string{
		`["push",["pipeline",0,[` + parts(65) + `]]]`, `["push",["pipeline",0,[` + parts(65) + `],[]]]`, `["push",["pipeline",0,[` + wide + `]]]`,
		`["push",["remap",0,[` + parts(65) + `],[],[0]]]`, `["push",["import",0,[` + wide + `]]]`,
	} {
		if got := hostile(t, nil, f); got != want {
			t.Errorf("%.60s ends with %q", f, got)
		}
	}
	if got := hostile(t, nil, `["push",["pipeline",0,[`+parts(64)+`]]]`, `["push",["pipeline",0,["`+strings.Repeat("x", 4096)+`"]]]`); got != "" {
		t.Errorf("legal paths end with %q", got)
	}
	_, w := bounded(t, (&server{}).target(), &Options{MaxMap: 20_000}, `["push",`+repeated("0", 1000)+`]`,
		`["push",["remap",1,[],[],[["pipeline",0,[`+parts(65)+`]]]]]`, `["pull",2]`,
		`["push",["remap",1,[],[],[["pipeline",0,[`+parts(30)+`]],1]]]`, `["pull",3]`)
	w.expect(`["reject",2,["error","Error","` + want + `"]]`)
	w.expect(`["reject",3,["error","Error","map() evaluates too many values"]]`)
}

// Looking for a property costs a map() what there is to look through, once for each object.
func TestMapChargesWideObjects(t *testing.T) {
	var fields []string
	for i := range 1000 {
		fields = append(fields, fmt.Sprintf(`"k%d":0`, i))
	}
	object := "{" + strings.Join(fields, ",") + "}"
	const steps = 100 * (1 + 1 + 2) // a read, its step, and the result, for each element
	run := func(list, capture, from string, max int) *wire {
		_, w := bounded(t, (&server{}).target(), &Options{MaxMap: max}, `["push",`+list+`]`, `["push",`+capture+`]`,
			`["push",["remap",1,[],[["import",2]],[["pipeline",`+from+`,["none"]],1]]]`, `["pull",3]`)
		return w
	}
	run(repeated(object, 100), "0", "0", 50_000).expect(`["reject",3,["error","Error","map() evaluates too many values"]]`)
	run(repeated("0", 100), object, "-1", 2000+steps).expect(`["resolve",3,` + repeated("1", 100) + `]`)
}

// A map() does not go on when its session has ended.
func TestMapEndsWithSession(t *testing.T) {
	var s *Session
	var calls atomic.Int64
	ready := make(chan struct{})
	main := Methods{"stop": func(ctx context.Context, _ []any) (any, error) {
		<-ready
		calls.Add(1)
		s.Close()
		<-ctx.Done()
		return nil, nil
	}}
	s, _ = bounded(t, main, nil, `["push",`+repeated("0", 50)+`]`, `["push",["remap",1,[],[["import",0]],[["pipeline",-1,["stop"],[]],1]]]`)
	close(ready)
	<-s.Done()
	time.Sleep(20 * time.Millisecond)
	if calls.Load() != 1 {
		t.Errorf("the map made %d calls", calls.Load())
	}
}

// All maps of one message share what they may cost.
func TestMapsOfOneMessage(t *testing.T) {
	_, w := bounded(t, (&server{}).target(), &Options{MaxMap: 5000}, `["push",`+repeated("0", 1000)+`]`,
		`["push",["pipeline",0,["echo"],[`+repeated(`["remap",1,[],[],[0]]`, 20)+`]]]`, `["pull",2]`)
	w.expect(`["reject",2,["error","Error","map() evaluates too many values"]]`)
}

// laughs are values each of which names the one before twice.
func laughs(n int) []string {
	frames := []string{`["push",[[1,2]]]`}
	for k := 1; k < n; k++ {
		frames = append(frames, fmt.Sprintf(`["push",[[["pipeline",%d],["pipeline",%d]]]]`, k, k))
	}
	return frames
}

// A value that is named twice is not copied, and does not grow without bound when its
// promises are substituted.
func TestNamedValuesAreShared(t *testing.T) {
	const n = 8
	s, w := bounded(t, (&server{}).target(), &Options{MaxHeld: 1 << 20}, laughs(n)...)
	if !eventually(func() bool { return s.Stats().Received == n }) {
		t.Fatalf("%+v %v", s.Stats(), s.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := int64(2); k <= n; k++ {
		v := s.exports[k].hook.(*valueHook)
		for i := range v.pl.slots {
			if v.pl.slots[i].promise.hook() != s.exports[k-1].hook {
				t.Fatalf("value %d has a copy of value %d", k, k-1)
			}
		}
	}
	s.mu.Unlock()
	for _, f := range laughs(30)[n:] {
		w.send(f)
	}
	w.send(`["push",["pipeline",0,["echo"],[["pipeline",30]]]]`)
	w.send(`["pull",31]`)
	w.expect(`["reject",31,["error","Error","too much data is held by calls in flight"]]`)
	w.send(`["push",["pipeline",0,["echo"],[["pipeline",8]]]]`)
	w.send(`["pull",32]`)
	w.expect(`["resolve",32,[[` + laugh(7) + `,` + laugh(7) + `]]]`)
	s.mu.Lock()
}

func laugh(n int) string {
	if n == 1 {
		return "[[1,2]]"
	}
	return "[[" + laugh(n-1) + "," + laugh(n-1) + "]]"
}

func TestValuesAreNotNestedWithoutEnd(t *testing.T) {
	for _, c := range []struct {
		n    int
		want string
	}{{64, ""}, {70, "bad RPC message: promises are nested too deeply"}} {
		frames := []string{`["push",[[1]]]`}
		for k := 1; k < c.n; k++ {
			frames = append(frames, fmt.Sprintf(`["push",[[["pipeline",%d]]]]`, k), fmt.Sprintf(`["release",%d,1]`, k))
		}
		if got := hostile(t, nil, frames...); got != c.want {
			t.Errorf("%d values ended with %q", c.n, got)
		}
	}
}

// What a callee does to the stubs in a shared value is its own affair.
func TestSharedStubs(t *testing.T) {
	srv := &server{}
	main := srv.methods()
	main["drop"] = func(_ context.Context, args []any) (any, error) {
		DisposeValue(args)
		return nil, nil
	}
	s, w := bounded(t, main, nil, `["push",["pipeline",0,["makeCounter"],[1]]]`, `["push",[[["pipeline",1]]]]`,
		`["push",["pipeline",0,["drop"],[["pipeline",1],["pipeline",2]]]]`, `["pull",3]`, `["push",["pipeline",2,[0,"inc"],[5]]]`, `["pull",4]`,
		`["release",1,1]`, `["push",["pipeline",2,[0,"inc"],[5]]]`, `["pull",5]`)
	w.expect(`["resolve",3,null]`)
	w.expect(`["resolve",4,6]`)
	w.expect(`["resolve",5,11]`)
	for _, id := range []int{2, 3, 4, 5} {
		w.send(fmt.Sprintf(`["release",%d,1]`, id))
	}
	if !eventually(func() bool { return atStart(s) && srv.live.Load() == 0 }) {
		t.Errorf("left: %+v, %d counters", s.Stats(), srv.live.Load())
	}
}

// A promise passed on and awaited gives its stubs to both.
func TestPassedAndAwaited(t *testing.T) {
	p := newPair(t, nil)
	c := p.main.Call(p.ctx, "makeCounter", 1)
	echo := p.main.Call(p.ctx, "keep", c)
	v := p.await(c)
	other := promiseOf(c.hook().get(p.ctx, nil))
	w := p.await(other)
	DisposeValue(v)
	DisposeValue(p.await(echo))
	if n := p.await(w.(*Stub).Call(p.ctx, "inc", 2)); n != 3.0 {
		t.Errorf("the counter says %v", n)
	}
	for _, pr := range []*Promise{c, echo, other} {
		pr.Dispose()
	}
	DisposeValue(w)
}

// A value too large for a message is refused, however it came to be so large.
func TestOutgoingSize(t *testing.T) {
	part := strings.Repeat("x", 1000)
	main := Methods{"big": func(context.Context, []any) (any, error) {
		return []any{part, Object{{"a", part}}, &Error{Name: "E", Props: Object{{"p", []any{part, part}}}}, part, part}, nil
	}}
	_, w := bounded(t, main, &Options{MaxMessage: 4000}, `["push",["pipeline",0,["big"],[]]]`, `["pull",1]`)
	w.expect(`["reject",1,["error","Error","the value is too large to be sent"]]`)
}

// A promise that is resolved with a promise, and so on, comes to an end.
func TestPromiseHops(t *testing.T) {
	for _, form := range []string{`["promise",-%d]`, `[[["promise",-%d]]]`, `{"a":{"b":["promise",-%d]}}`} {
		s, w := bounded(t, nil, nil)
		m := s.Main()
		p := m.Call(context.Background(), "f")
		p.Done()
		w.expect(`["push",["pipeline",0,["f"],[]]]`)
		w.send(`["resolve",1,` + fmt.Sprintf(form, 1) + `]`)
		for k := 1; k < 80; k++ {
			if w.end.Send(fmt.Appendf(nil, `["resolve",-%d,`+form+`]`, k, k+1)) != nil {
				break
			}
		}
		endsWith(t, s, protocolError("bad RPC message: promises are nested too deeply"))
		p.Dispose()
	}
	s, w := bounded(t, nil, nil)
	m := s.Main()
	p := m.Call(context.Background(), "f")
	p.Done()
	w.send(`["resolve",1,["promise",-1]]`)
	for k := 1; k < 60; k++ {
		w.send(fmt.Sprintf(`["resolve",-%d,["promise",-%d]]`, k, k+1))
	}
	w.send(`["resolve",-60,"end"]`)
	if v, err := p.Await(context.Background()); v != "end" || err != nil {
		t.Errorf("%v %v", v, err)
	}
	// The session may still be sending its releases when the answer is known.
	if !eventually(func() bool { st := s.Stats(); return st.Held == 0 && st.Imports == 1 }) {
		t.Errorf("left: %+v", s.Stats())
	}
}

// Parts of parts of a value keep the whole, not one another.
func TestPartsOfParts(t *testing.T) {
	s, w := bounded(t, nil, nil, `["push",{"a":1}]`)
	for k := 1; k < 20; k++ {
		w.send(fmt.Sprintf(`["push",["pipeline",%d,["toString"]]]`, k))
		w.send(fmt.Sprintf(`["release",%d,1]`, k))
	}
	if !eventually(func() bool { return s.Stats().Received == 39 }) {
		t.Fatal(s.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.exports[20].hook.(*valueHook); v.pl.parent == nil || v.pl.parent.pl.parent != nil || v.pl.parent.pl.refs.Load() != 0 {
		t.Error("a part is kept by a part")
	}
}

// heldCases are ways to make a session keep about 1.6 MB.
func heldCases() map[string][]string {
	const n = 4
	text := `"` + strings.Repeat("x", 400_000) + `"`
	pending := `["push",["pipeline",0,["echo"],[["promise",-1],["promise",-2],["promise",-3],["promise",-4],["promise",-5]]]]`
	value := `["push",[[["promise",-1],["promise",-2],["promise",-3],["promise",-4],["promise",-5]]]]`
	cases := map[string][]string{
		"small lists":   {`["push",` + repeated("[[0]]", 20_000) + `]`},
		"small objects": {`["push",` + repeated(`{"a":0}`, 20_000) + `]`},
		"resolutions":   {pending}, "errors": {value}, "thrown values": {value},
	}
	for k := 1; k <= n; k++ {
		cases["resolutions"] = append(cases["resolutions"], fmt.Sprintf(`["resolve",-%d,%s]`, k, text))
		cases["errors"] = append(cases["errors"], fmt.Sprintf(`["reject",-%d,["error","E",%s]]`, k, text))
		cases["thrown values"] = append(cases["thrown values"], fmt.Sprintf(`["reject",-%d,%s]`, k, text))
		cases["released values"] = append(cases["released values"], fmt.Sprintf(`["push",[[%s]]]`, text),
			fmt.Sprintf(`["push",["pipeline",%d,[0]]]`, 2*k-1), fmt.Sprintf(`["release",%d,1]`, 2*k-1))
	}
	return cases
}

// Everything kept for a peer counts against one limit.
func TestHeldIsBounded(t *testing.T) {
	for name, frames := range heldCases() {
		t.Run(name, func(t *testing.T) {
			s, _ := bounded(t, (&server{}).target(), &Options{MaxHeld: 1 << 20}, frames...)
			endsWith(t, s, errTooMuchHeld)
			s, _ = bounded(t, (&server{}).target(), nil, frames...)
			if !eventually(func() bool { return s.Stats().Received == int64(len(frames)) }) {
				t.Errorf("with more room it ended with %v", s.Err())
			}
		})
	}
}

// What streams and blobs have taken counts after the writes are acknowledged.
func TestBuffersCount(t *testing.T) {
	for name, form := range map[string]string{"blob": `["blob","t",["readable",%d]]`, "stream": `[[["readable",%d]]]`} {
		s, w := bounded(t, (&server{}).target(), &Options{MaxHeld: 1 << 20})
		for k := 0; k < 4 && s.Err() == nil; k++ {
			_ = w.end.Send([]byte(`["pipe"]`))
			_ = w.end.Send(fmt.Appendf(nil, `["push",`+form+`]`, 3*k+1))
			_ = w.end.Send(fmt.Appendf(nil, `["stream",["pipeline",%d,["write"],["%s"]]]`, 3*k+1, strings.Repeat("x", 400_000)))
			if !eventually(func() bool { return s.Err() != nil || s.Stats().Received == int64(3*k+3) && s.Stats().Calls == 2*k+2 }) {
				t.Fatalf("%s: %+v", name, s.Stats())
			}
		}
		endsWith(t, s, errTooMuchHeld)
	}
}

// A stream that is read, a blob that is released and an error that is forgotten count no more.
func TestHeldIsGivenBack(t *testing.T) {
	s, w := bounded(t, (&server{}).target(), nil)
	text := strings.Repeat("x", 100_000)
	for _, f := range []string{
		`["pipe"]`, `["push",["pipeline",0,["echo"],[["blob","t",["readable",1]]]]]`, `["stream",["pipeline",1,["write"],["` + text + `"]]]`,
		`["stream",["pipeline",1,["close"],[]]]`, `["push",[[["promise",-1],["promise",-2],{"a":["pipeline",2]}]]]`,
		`["reject",-1,"` + text + `"]`, `["reject",-2,["error","E","` + text + `"]]`, `["pull",2]`, `["push",["pipeline",5,[2]]]`,
	} {
		w.send(f)
	}
	if !eventually(func() bool { return s.Stats().Held > 3*len(text) && s.Stats().Received == 9 }) {
		t.Errorf("%+v", s.Stats())
	}
	for _, id := range []int{1, 2, 5, 6} {
		w.send(fmt.Sprintf(`["release",%d,1]`, id))
	}
	if !eventually(func() bool { runtime.GC(); return s.Stats().Calls == 0 && s.Stats().Held == 0 }) {
		t.Errorf("left: %+v", s.Stats())
	}
}

func TestParsedTree(t *testing.T) {
	tree, size, err := parseJSON([]byte(`[[0],[1,2,3],[],["a",{"b":1000}]]`), 10, 1<<20)
	l, ok := tree.([]any)
	if err != nil || !ok || cap(l) != 4 || cap(l[0].([]any)) != 1 || cap(l[1].([]any)) != 3 {
		t.Errorf("%v %v", tree, err)
	}
	if _, _, err := parseJSON([]byte(`[[0],[1,2,3],[],["a",{"b":1000}]]`), 10, size-1); !errors.Is(err, errTooMuchHeld) {
		t.Errorf("with room for less: %v", err)
	}
	if size < 13*16+6*24 || size > 1000 {
		t.Errorf("the estimate is %d", size)
	}
}

// A chain of promises, each settled with the next, is disposed without recursion.
func TestLongChainIsDisposed(t *testing.T) {
	srv := &server{}
	h := NewStub(srv.counter(1)).hook()
	for range 100_000 {
		next := newPending()
		next.settle(h)
		h = next
	}
	defer debug.SetMaxStack(debug.SetMaxStack(4 << 20)) // more is fatal
	h.dispose()
	if srv.live.Load() != 0 {
		t.Error("the end of the chain is alive")
	}
}
