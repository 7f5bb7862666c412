package capnweb

import (
	"context"
	"strings"
	"testing"
)

// What a map() sends is what the official client sends.
func TestMapFrames(t *testing.T) {
	a, b := Pipe()
	s := NewSession(b, nil, nil)
	defer s.Close()
	w := newWire(t, a)
	m := s.Main()
	defer m.Dispose()
	list := m.Call(t.Context(), "list")
	w.expect(`["push",["pipeline",0,["list"],[]]]`)
	p := list.Map(t.Context(), func(r *Mapper, o *Expr) any {
		return Object{{"id", o.Get("id")}, {"n", r.Stub(m).Call("name", o.Get("id"))}}
	})
	w.expect(`["push",["remap",1,[],[["import",0]],[["pipeline",-1,["name"],[["pipeline",0,["id"]]]],{"id":["pipeline",0,["id"]],"n":["pipeline",1]}]]]`)
	q := list.Map(t.Context(), func(_ *Mapper, row *Expr) any {
		return row.Get("cells").Map(func(r *Mapper, x *Expr) any { return []any{r.Stub(m).Call("add", x, row.Get("k")), m} })
	})
	w.expect(`["push",["remap",1,[],[["import",0]],[["remap",0,["cells"],[["import",-1],["import",0]],[["pipeline",-1,["add"],[["pipeline",0],["pipeline",-2,["k"]]]],[[["pipeline",1],["import",-1]]]]],["pipeline",1]]]]`)
	for _, p := range []*Promise{q, p, list} {
		p.Dispose()
	}
	w.expect(`["release",3,1]`)
	w.expect(`["release",2,1]`)
	w.expect(`["release",1,1]`)
	w.nothingElse()
}

// A function that cannot be recorded rejects the promise; nothing is sent and nothing is kept.
func TestMapCannotBeRecorded(t *testing.T) {
	p := newPair(t, nil)
	list := p.main.Call(p.ctx, "list")
	defer list.Dispose()
	var stale *Expr
	cases := map[string]struct {
		f    MapFunc
		want string
	}{
		"object": {func(*Mapper, *Expr) any { return p.server.counter(1) }, textMapTarget},
		"promise of ours": {func(m *Mapper, _ *Expr) any {
			own, _, _ := NewPromise()
			return m.Promise(own)
		}, textMapPromise},
		"value": {func(m *Mapper, _ *Expr) any { return m.Promise(Resolved(1)) }, textMapPromise},
		"disposed stub": {func(m *Mapper, _ *Expr) any {
			s := p.main.Dup()
			s.Dispose()
			return m.Stub(s)
		}, textDisposedStub},
		"stream": {func(*Mapper, *Expr) any { return chunksOf(nil) }, "Cannot serialize streams in this context."},
		"leaks out": {func(_ *Mapper, x *Expr) any {
			stale = x
			return struct{}{}
		}, "Cannot serialize value"},
		"used later": {func(_ *Mapper, _ *Expr) any { return stale.Call("x") }, textMapEnded},
		"of another map": {func(_ *Mapper, x *Expr) any {
			other := list.Map(p.ctx, func(*Mapper, *Expr) any { return x })
			defer other.Dispose()
			_, err := other.Await(p.ctx)
			return err
		}, textMapForeign},
	}
	for _, name := range []string{"object", "promise of ours", "value", "disposed stub", "stream", "leaks out", "used later", "of another map"} {
		t.Run(name, func(t *testing.T) {
			before := p.remote.Stats().Received
			r := list.Map(p.ctx, cases[name].f)
			defer r.Dispose()
			v, err := r.Await(p.ctx)
			if name == "of another map" { // the error of the other one is what this one gives back
				got, ok := v.([]any)
				if !ok || !strings.Contains(got[0].(error).Error(), cases[name].want) {
					t.Errorf("got %v %v", v, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), cases[name].want) {
				t.Errorf("got %v %v, want %q", v, err, cases[name].want)
			}
			if after := p.remote.Stats().Received; after > before+1 { // the release of an earlier case may still come
				t.Errorf("%d messages were sent", after-before)
			}
		})
	}
	r := p.main.Call(p.ctx, "echo", stale)
	defer r.Dispose()
	if _, err := r.Await(p.ctx); err == nil {
		t.Error("a stand-in was sent outside its map")
	}
	ended, cancel := context.WithCancel(p.ctx)
	cancel()
	if _, err := list.Map(ended, func(_ *Mapper, x *Expr) any { return x }).Await(p.ctx); err == nil {
		t.Error("a map was sent after its ctx had ended")
	}
}

// A panic of the function leaves nothing behind.
func TestMapPanics(t *testing.T) {
	p := newPair(t, nil)
	list := p.main.Call(p.ctx, "list")
	defer list.Dispose()
	c := p.await(p.main.Call(p.ctx, "makeCounter", 1)).(*Stub)
	defer c.Dispose()
	defer func() {
		if recover() == nil {
			t.Error("the panic was swallowed")
		}
	}()
	list.Map(p.ctx, func(m *Mapper, _ *Expr) any {
		m.Stub(c)
		panic("of the function")
	})
}
