package capnweb

import (
	"context"
	"errors"
	"io"
	"math"
	"math/big"
	"strings"
	"time"
)

// user runs a scenario as a Go client: what it is handed is disposed at the end, a failed
// call ends the scenario with its error.
type user struct {
	ctx context.Context
	m   *Stub
	own []func()
}

type failure struct{ err error }

// story makes a scenario of a function of a user.
func story(f func(u *user) any) func(context.Context, *Stub) (any, error) {
	return func(ctx context.Context, m *Stub) (v any, err error) {
		u := &user{ctx: ctx, m: m}
		defer func() {
			for _, dispose := range u.own {
				dispose()
			}
			if r := recover(); r != nil {
				failed, ok := r.(failure)
				if !ok {
					panic(r)
				}
				err = failed.err
			}
		}()
		return f(u), nil
	}
}

func (u *user) keep(p *Promise) *Promise {
	u.own = append(u.own, p.Dispose)
	return p
}

func (u *user) call(method string, args ...any) *Promise {
	return u.keep(u.m.Call(u.ctx, method, args...))
}

// get awaits p; stubs in the value are disposed with p, at the end.
func (u *user) get(p *Promise) any {
	v, err := u.keep(p).Await(u.ctx)
	if err != nil {
		panic(failure{err})
	}
	return v
}

func (u *user) error(p *Promise) string {
	if _, err := u.keep(p).Await(u.ctx); err != nil {
		return err.Error()
	}
	return "no error"
}

func (u *user) stub(p *Promise) *Stub { return u.get(p).(*Stub) }

func (u *user) inc(on interface {
	Call(context.Context, string, ...any) *Promise
}, k int) any {
	return u.get(on.Call(u.ctx, "inc", k))
}

// until tells whether ok becomes true in time.
func (u *user) until(ok func() bool) bool {
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if ok() {
			return true
		}
	}
	return false
}

func (u *user) nothingLives() bool {
	return u.until(func() bool { return u.get(u.call("live")) == 0.0 })
}

func (u *user) chunks(v any) (out []any) {
	for {
		c, err := v.(*Stream).Read(u.ctx)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			panic(failure{err})
		}
		out = append(out, c)
	}
}

func fnOf(f func(x any) any) Target {
	return Func(func(_ context.Context, a []any) (any, error) { return f(a[0]), nil })
}

func plus(k float64) Target { return fnOf(func(x any) any { return x.(float64) + k }) }

func init() {
	for section, list := range map[string]map[string]func(*user) any{
		"values": valueStories, "pipelining": pipelineStories, "failures": failureStories, "callbacks": callbackStories,
		"stubs": stubStories, "map": mapStories, "streams": streamStories,
	} {
		for name, f := range list {
			clientScenarios[section+": "+name] = story(f)
		}
	}
}

var valueStories = map[string]func(*user) any{
	"not finite": func(u *user) any { return u.get(u.call("echo", []any{math.Inf(1), math.Inf(-1), math.NaN()})) },
	"numbers": func(u *user) any {
		return u.get(u.call("echo", []any{0, -1, 1.5e-7, 1e21, 5e-324, math.MaxFloat64, int8(3), uint16(9)}))
	},
	"bigints": func(u *user) any {
		return u.get(u.call("echo", []any{big.NewInt(0), new(big.Int).Lsh(big.NewInt(-1), 4000)}))
	},
	"dates": func(u *user) any {
		return u.get(u.call("echo", []any{Date(0), Date(math.NaN()), time.UnixMilli(1e12)}))
	},
	"text": func(u *user) any { return u.get(u.call("echo", "x\u2028é😀\x00\"\\\n\ufeff")) },
	"containers": func(u *user) any {
		var all []any
		for _, kind := range []string{"ArrayBuffer", "DataView", "Int8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array",
			"Int32Array", "Uint32Array", "Float32Array", "BigInt64Array", "BigUint64Array", "Float64Array"} {
			all = append(all, TypedArray{kind, make([]byte, 16)})
		}
		return u.get(u.call("echo", all))
	},
	"looks like an expression": func(u *user) any {
		return u.get(u.call("echo", []any{[]any{"import", 0}, []any{}, []any{[]any{}}, Object{{"a", []any{"undefined"}}}}))
	},
	"reserved keys": func(u *user) any { return u.get(u.call("echo", Object{{"__proto__", 1}, {"toJSON", 2}, {"ok", 3}})) },
	"too deep":      func(u *user) any { return u.error(u.call("echo", nestedObject(300))) },
	"deep":          func(u *user) any { return u.get(u.call("echo", nestedObject(100))) },
	"errors": func(u *user) any {
		return u.get(u.call("echo", []any{typeError("a"), &Error{Message: "b", Props: Object{{"cause", plainError("c")}}}}))
	},
	"an error returned":        func(u *user) any { return u.get(u.call("returnError")) },
	"a type that is not known": func(u *user) any { return u.error(u.call("echo", struct{}{})) },
	"many arguments":           func(u *user) any { return u.get(u.call("count", make([]any, 200)...)) },
}

func nestedObject(n int) Object {
	o := Object{}
	for range n {
		o = Object{{"a", o}}
	}
	return o
}

var pipelineStories = map[string]func(*user) any{
	"on what comes later": func(u *user) any { return u.inc(u.call("laterCounter", 4), 2) },
	"property":            func(u *user) any { return u.get(u.call("makeCounter", 4).GetPath(u.ctx, []any{"value"})) },
	"path into a value":   func(u *user) any { return u.get(u.m.GetPath(u.ctx, []any{"facts", "deep", "list", 1})) },
	"index":               func(u *user) any { return u.get(u.call("list").GetPath(u.ctx, []any{1, "id"})) },
	"index out of range":  func(u *user) any { return u.get(u.call("list").GetPath(u.ctx, []any{7})) },
	"path to a stub":      func(u *user) any { return u.get(u.call("nested").CallPath(u.ctx, []any{"a", "box", "c", "inc"}, nil)) },
	"a chain":             func(u *user) any { return u.inc(u.keep(u.call("makeCounter", 1).Call(u.ctx, "twin")), 1) },
	"function from a call": func(u *user) any {
		return u.get(u.call("returnFunction", 10).Call(u.ctx, "", 5))
	},
	"same promise twice": func(u *user) any { p := u.call("square", 3); return u.get(u.call("add", p, p)) },
	"given up": func(u *user) any {
		u.m.Call(u.ctx, "laterCounter", 1).Dispose()
		return u.nothingLives()
	},
	"disposed with calls on it": func(u *user) any {
		c := u.m.Call(u.ctx, "makeCounter", 1)
		p := c.Call(u.ctx, "inc", 4)
		c.Dispose()
		return u.get(p)
	},
}

var failureStories = map[string]func(*user) any{
	"later":                 func(u *user) any { return u.get(u.call("failLater")) },
	"text thrown":           func(u *user) any { return u.get(u.call("throwIt", "text")) },
	"object thrown":         func(u *user) any { return u.get(u.call("throwIt", Object{{"a", 1}})) },
	"on a failure":          func(u *user) any { return u.get(u.call("fail").CallPath(u.ctx, []any{"a", "b"}, nil)) },
	"read on a failure":     func(u *user) any { return u.get(u.call("failLater").GetPath(u.ctx, []any{"value"})) },
	"a failing getter":      func(u *user) any { return u.get(u.m.GetPath(u.ctx, []any{"bad"})) },
	"not a function":        func(u *user) any { return u.get(u.call("user").Call(u.ctx, "name")) },
	"property of undefined": func(u *user) any { return u.get(u.call("returnUndefined").GetPath(u.ctx, []any{"x"})) },
	"property of null":      func(u *user) any { return u.get(u.call("returnNull").GetPath(u.ctx, []any{"x"})) },
	"a prototype's name":    func(u *user) any { return u.get(u.call("toString")) },
	"a failed argument":     func(u *user) any { return u.get(u.call("square", u.call("failLater"))) },
	"used after disposal": func(u *user) any {
		c := u.stub(u.call("makeCounter", 1))
		c.Dispose()
		return u.error(c.Call(u.ctx, "inc"))
	},
	"all goes on afterwards": func(u *user) any { return []any{u.error(u.call("fail")), u.get(u.call("square", 2))} },
}

var callbackStories = map[string]func(*user) any{
	"many times": func(u *user) any {
		return u.get(u.call("callMany", fnOf(func(x any) any { return x.(float64) * x.(float64) }), 20))
	},
	"returns a stub": func(u *user) any {
		return u.inc(u.call("callFn", fnOf(func(any) any { return (&server{}).counter(1) })), 1)
	},
	"returns nothing": func(u *user) any { return u.get(u.call("callFn", fnOf(func(any) any { return Undefined{} }))) },
	"calls back": func(u *user) any {
		return u.get(u.call("callFunction", fnOf(func(x any) any { return u.m.Call(u.ctx, "square", x) }), 4))
	},
	"kept": func(u *user) any {
		out := []any{u.get(u.call("keep", plus(1))), u.get(u.call("keep", plus(2))), u.get(u.call("callKept", 5))}
		u.get(u.call("dropKept"))
		return out
	},
	"kept without dup": func(u *user) any {
		u.get(u.call("forget", plus(1)))
		return u.error(u.call("callForgotten", 1)) != "no error"
	},
	"let go after the call": func(u *user) any {
		s := &server{}
		u.get(u.call("incrementCounter", s.counter(1)))
		return u.until(func() bool { return s.live.Load() == 0 })
	},
	"throws a value": func(u *user) any {
		return u.get(u.call("callFn", Func(func(context.Context, []any) (any, error) { return nil, &Thrown{Object{{"a", 1}}} })))
	},
}

var stubStories = map[string]func(*user) any{
	"property of an own object": func(u *user) any { return u.get(u.call("valueOf_", (&server{}).counter(4))) },
	"passed back": func(u *user) any {
		f := NewStub(plus(1))
		u.own = append(u.own, f.Dispose)
		r, _ := u.get(u.call("passBack", f)).(Object).Get("f")
		return u.get(r.(*Stub).Call(u.ctx, "", 2))
	},
	"dup": func(u *user) any {
		c := u.stub(u.call("makeCounter", 1))
		d := c.Dup()
		c.Dispose()
		defer d.Dispose()
		return []any{u.inc(d, 1), u.get(u.call("live"))}
	},
	"released": func(u *user) any {
		c := u.stub(u.call("makeCounter", 1))
		before := u.get(u.call("live"))
		c.Dispose()
		c.Dispose()
		return []any{before, u.get(u.call("live"))}
	},
	"twice in one message": func(u *user) any {
		c := u.stub(u.call("makeCounter", 1))
		return u.get(u.call("count", c, c, []any{c}))
	},
	"two of one object": func(u *user) any {
		l := u.get(u.call("twins")).([]any)
		return []any{u.inc(l[0].(*Stub), 1), u.inc(l[1].(*Stub), 1)}
	},
	"the same object again": func(u *user) any {
		return []any{u.inc(u.stub(u.call("shared")), 1), u.inc(u.stub(u.call("shared")), 1)}
	},
	"stub of a promise": func(u *user) any {
		s := u.call("makeCounter", 1).Stub()
		defer s.Dispose()
		return []any{u.inc(s, 1), u.get(u.call("incrementCounter", s, 1))}
	},
	"a promise breaks": func(u *user) any {
		why := make(chan string, 1)
		p := u.call("failLater")
		p.OnBroken(func(err error) { why <- err.Error() })
		_ = u.error(p)
		return <-why
	},
	"order on a promise": func(u *user) any {
		c := u.call("laterCounter", 0)
		var out []any
		for i := range 10 {
			out = append(out, u.keep(c.Call(u.ctx, "inc", i)))
		}
		return u.get(u.call("echo", out))
	},
}

var mapStories = map[string]func(*user) any{
	"values": func(u *user) any {
		return u.get(u.call("list").Map(u.ctx, func(m *Mapper, x *Expr) any {
			return Object{{"id", x.Get("id")}, {"n", m.Stub(u.m).Call("name", x.Get("id"))}}
		}))
	},
	"identity": func(u *user) any {
		return u.get(u.call("generateFibonacci", 5).Map(u.ctx, func(_ *Mapper, x *Expr) any { return x }))
	},
	"a constant": func(u *user) any {
		return u.get(u.call("list").Map(u.ctx, func(*Mapper, *Expr) any { return []any{1, "x", nil, Date(3)} }))
	},
	"null": func(u *user) any {
		return u.get(u.call("returnNull").Map(u.ctx, func(_ *Mapper, x *Expr) any { return x }))
	},
	"a number": func(u *user) any {
		return u.get(u.call("square", 3).Map(u.ctx, func(m *Mapper, x *Expr) any { return m.Stub(u.m).Call("square", x) }))
	},
	"a property": func(u *user) any {
		return u.get(u.m.Map(u.ctx, []any{"facts", "deep", "list"}, func(m *Mapper, x *Expr) any { return m.Stub(u.m).Call("square", x) }))
	},
	"nested": func(u *user) any {
		rows := u.call("echo", []any{Object{{"k", 2}, {"l", []any{1, 2}}}, Object{{"k", 3}, {"l", []any{3}}}})
		return u.get(rows.Map(u.ctx, func(m *Mapper, o *Expr) any {
			main := m.Stub(u.m)
			return o.Get("l").Map(func(_ *Mapper, x *Expr) any { return []any{main.Call("add", x, o.Get("k")), o.Get("k")} })
		}))
	},
	"nested with a stub of its own": func(u *user) any {
		c := u.call("makeCounter", 0)
		return u.get(u.call("echo", []any{[]any{1, 2}, []any{3}}).Map(u.ctx, func(_ *Mapper, row *Expr) any {
			return row.Map(func(m *Mapper, x *Expr) any { return m.Promise(c).Call("inc", x) })
		}))
	},
	"stubs": func(u *user) any {
		l := u.get(u.call("generateFibonacci", 4).Map(u.ctx, func(m *Mapper, x *Expr) any { return m.Stub(u.m).Call("makeCounter", x) })).([]any)
		return u.inc(l[3].(*Stub), 10)
	},
	"pipelines": func(u *user) any {
		return u.get(u.call("generateFibonacci", 4).Map(u.ctx, func(m *Mapper, x *Expr) any { return m.Stub(u.m).Call("makeCounter", x).Call("inc", 5) }))
	},
	"a callback of ours": func(u *user) any {
		f := NewStub(plus(1))
		defer f.Dispose()
		return u.get(u.call("generateFibonacci", 4).Map(u.ctx, func(m *Mapper, x *Expr) any { return []any{m.Stub(f).Call("", x), m.Stub(f).Call("", 10)} }))
	},
	"a stub in the result": func(u *user) any {
		f := NewStub(plus(1))
		u.own = append(u.own, f.Dispose)
		l := u.get(u.call("list").Map(u.ctx, func(*Mapper, *Expr) any { return Object{{"f", f}} })).([]any)
		s, _ := l[1].(Object).Get("f")
		return u.get(s.(*Stub).Call(u.ctx, "", 1))
	},
	"a promise as argument": func(u *user) any {
		c := u.call("makeCounter", 7)
		return u.get(u.call("generateFibonacci", 3).Map(u.ctx, func(m *Mapper, x *Expr) any { return m.Stub(u.m).Call("incrementCounter", c, x) }))
	},
	"on the result of a map": func(u *user) any {
		square := func(m *Mapper, x *Expr) any { return m.Stub(u.m).Call("square", x) }
		return u.get(u.keep(u.call("generateFibonacci", 4).Map(u.ctx, square)).Map(u.ctx, square))
	},
	"result as argument": func(u *user) any {
		return u.get(u.call("echo", u.keep(u.call("generateFibonacci", 4).Map(u.ctx, func(_ *Mapper, x *Expr) any { return []any{x} }))))
	},
	"throws": func(u *user) any {
		return u.get(u.call("list").Map(u.ctx, func(m *Mapper, _ *Expr) any { return m.Stub(u.m).Call("fail") }))
	},
	"an error": func(u *user) any { return u.get(u.call("fail").Map(u.ctx, func(_ *Mapper, x *Expr) any { return x })) },
	"given up": func(u *user) any {
		u.call("generateFibonacci", 4).Map(u.ctx, func(m *Mapper, x *Expr) any { return m.Stub(u.m).Call("makeCounter", x) }).Dispose()
		return u.nothingLives()
	},
}

var streamStories = map[string]func(*user) any{
	"empty": func(u *user) any { return u.chunks(u.get(u.call("getEmptyStream"))) },
	"collected": func(u *user) any {
		return u.get(u.call("collect", chunksOf(io.EOF, "a", Object{{"r", 1}}, Undefined{})))
	},
	"two at once": func(u *user) any {
		return []any{u.get(u.call("collect", chunksOf(io.EOF, 1))), u.get(u.call("collect", chunksOf(io.EOF, 2)))}
	},
	"breaks":         func(u *user) any { return u.chunkError(u.get(u.call("getBrokenStream"))) },
	"inside a value": func(u *user) any { return u.get(u.call("collectFrom", Object{{"list", []any{chunksOf(io.EOF, "a")}}})) },
	"many bytes": func(u *user) any {
		l := u.chunks(u.get(u.call("getBytes", 40, 16384)))
		return []any{len(l), l[39].([]byte)[0]}
	},
	"of counters": func(u *user) any {
		var out []any
		for _, c := range u.chunks(u.get(u.call("getCounterStream", 3))) {
			out = append(out, u.inc(c.(*Stub), 10))
			c.(*Stub).Dispose()
		}
		return []any{out, u.nothingLives()}
	},
	"given up": func(u *user) any {
		st := u.get(u.call("getEndless")).(*Stream)
		_, _ = st.Read(u.ctx)
		st.Cancel(nil)
		return u.until(func() bool { return u.get(u.call("canceled")) == "yes" })
	},
	"argument read in part": func(u *user) any {
		canceled := make(chan bool, 1)
		once := false
		st := NewStream(func(ctx context.Context) (any, error) {
			if !once {
				once = true
				context.AfterFunc(ctx, func() { canceled <- true })
			}
			return strings.Repeat("x", 1000), nil
		})
		return []any{len(u.get(u.call("readSome", st, 3)).([]any)), <-canceled}
	},
	"writer": func(u *user) any {
		w := u.get(u.call("getWriter")).(*Writer)
		return []any{w.Write(u.ctx, Object{{"a", 1}}), w.Close(u.ctx), u.get(u.call("written"))}
	},
	"writer fails": func(u *user) any {
		w := u.get(u.call("getWriter")).(*Writer)
		_ = w.Write(u.ctx, "bad")
		return []any{w.Close(u.ctx) != nil, u.get(u.call("written"))}
	},
	"writer aborted": func(u *user) any {
		w := u.get(u.call("getWriter")).(*Writer)
		_ = w.Write(u.ctx, "z")
		w.Abort(errors.New("x"))
		return u.until(func() bool { return show(u.get(u.call("written")).([]any)[0]) == "string(aborted)" })
	},
	"own writer aborted": func(u *user) any {
		got := &recorder{}
		v := u.get(u.call("fillAndAbort", NewWriter(got)))
		return []any{v, u.until(func() bool { got.mu.Lock(); defer got.mu.Unlock(); return got.end == "aborted" })}
	},
	"blobs": func(u *user) any {
		return u.get(u.call("echo", []any{Blob{"text/plain", []byte("a")}, Object{{"b", Blob{"", nil}}}}))
	},
}

// chunkError is the error in which a stream ends.
func (u *user) chunkError(v any) string {
	for {
		if _, err := v.(*Stream).Read(u.ctx); err != nil {
			return err.Error()
		}
	}
}
