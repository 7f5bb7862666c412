package host

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"toolshed/runtime/capnweb"
)

// Gadgets that replace what the language is made of must not confuse the protocol: the peer's next calls give the right
// values, and every capability is the one that was meant.

// overrides are run at the top of a module, and in a method. The gadget's own code below uses syntax only.
var overrides = []string{
	`const P = Object.prototype; for (const k of ["get", "set", "value", "writable", "enumerable", "configurable"]) P[k] = () => { throw new Error("trap") }`,
	`Object.defineProperty(Object.prototype, "get", { get() { throw new Error("trap") }, set() {}, configurable: true })`,
	`Object.prototype.toJSON = () => "changed"`,
	`Object.prototype.toJSON = () => { throw new Error("trap") }`,
	`Array.prototype.toJSON = () => "changed"`,
	`String.prototype.toJSON = Number.prototype.toJSON = Boolean.prototype.toJSON = () => "changed"`,
	`Object.prototype.constructor = Array.prototype.constructor = null`,
	`Object.prototype.constructor = Array.prototype.constructor = { [Symbol.species]: function () { throw new Error("trap") } }`,
	`Object.prototype.x = Object.prototype.a = Object.prototype.probe = Object.prototype.name = "changed"`,
	`Object.prototype[0] = "zero"; Object.prototype[1] = "one"; Object.prototype.length = 7`,
	`for (const P of [Object.prototype, Array.prototype]) for (let i = 0; i < 9; i++) Object.defineProperty(P, i, { set() { throw new Error("trap") }, get() { return "zero" } })`,
	`for (const P of [Object.prototype, Array.prototype]) for (let i = 0; i < 9; i++) Object.defineProperty(P, i, { set(x) { globalThis.stolen = x }, get() {} })`,
	`for (const k of ["state", "waiters", "id", "count", "pulled", "box", "hook", "path", "owner", "future", "handles", "text", "scope", "held", "waits",
		"target", "quiet", "exported", "boxes", "sent", "out", "a", "b", "x", "list", "date", "native", "parent", "keep", "disposed", "at", "every", "always", "value"])
		Object.defineProperty(Object.prototype, k, { set() { throw new Error("trap") }, get() { return "changed" }, configurable: true })`,
	`Array.prototype[Symbol.iterator] = Map.prototype[Symbol.iterator] = Set.prototype[Symbol.iterator] = () => { throw new Error("trap") }`,
	`delete Array.prototype[Symbol.iterator]`,
	`Object.getPrototypeOf([][Symbol.iterator]()).next = () => ({ done: true })`,
	`const all = [Array, String, Number, Boolean, Date, RegExp, Symbol, BigInt, Error, Uint8Array, Object.getPrototypeOf(Uint8Array), ArrayBuffer, DataView], keys = [];
		for (let i = 0; i < all.length; i++) keys[i] = Reflect.ownKeys(all[i].prototype);
		for (let i = 0; i < all.length; i++) for (let k = 0; k < keys[i].length; k++) try { all[i].prototype[keys[i][k]] = () => { throw new Error("trap") } } catch {}`,
	`JSON.stringify = JSON.parse = () => "changed"; globalThis.JSON = null`,
	`globalThis.Promise = null`,
	`Promise.prototype.then = Promise.prototype.catch = Promise.prototype.finally = () => { throw new Error("trap") }`,
	`Promise.prototype.then = function () { return this }`,
	`Promise.prototype.constructor = function () { throw new Error("trap") }`,
	`Object.defineProperty(Promise, Symbol.species, { get() { throw new Error("trap") } })`,
	`Promise.resolve = Promise.reject = Promise.all = null`,
	`try { Symbol.dispose = null } catch {} try { Object.defineProperty(Symbol, "dispose", { value: 1 }) } catch {}`,
	`Object.prototype[Symbol.dispose] = Function.prototype[Symbol.dispose] = () => { throw new Error("trap") }`,
	`for (const C of [Map, Set, WeakMap, WeakSet, WeakRef, FinalizationRegistry]) for (const k of Reflect.ownKeys(C.prototype)) if (k !== "constructor")
		Object.defineProperty(C.prototype, k, { get() { throw new Error("trap") } })`,
	`for (const k of Reflect.ownKeys(Reflect)) delete Reflect[k]`,
	`for (const k of Reflect.ownKeys(Object)) if (k !== "prototype") try { Object[k] = () => { throw new Error("trap") } } catch {}`,
	`Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => { throw new Error("trap") }`,
	`Error.prepareStackTrace = () => { throw new Error("trap") }`,
	`Error.captureStackTrace = null; Error.stackTraceLimit = { valueOf() { throw 1 } }`,
	`for (const k of Reflect.ownKeys(globalThis)) if (!["Gadget", "globalThis"].includes(k)) try { Object.defineProperty(globalThis, k, { get() { throw new Error("trap") } }) } catch {}`,
	`queueMicrotask = structuredClone = setTimeout = clearTimeout = console = null`,
	`Object.setPrototypeOf(Object.prototype.__proto__ ?? Array.prototype, new Proxy({}, { get() { throw new Error("trap") }, has() { throw new Error("trap") }, set() { throw new Error("trap") } }))`,
	`Object.freeze(Object.prototype); Object.freeze(Array.prototype); Object.freeze(Promise.prototype); Object.freeze(globalThis)`,
	`for (const C of [RpcTarget, RpcStub, DurableObject]) { C.prototype.dup = C.prototype.then = C.prototype.go = () => "changed"; Object.setPrototypeOf(C.prototype, { x: 1 }) }`,
}

// thenables make every plain object a thenable, by the rules of the language: values then are what their then says, and
// only what is not an object is sure to arrive.
var thenables = []string{
	`Object.prototype.then = (ok) => { ok("changed") }`,
	`Object.prototype.then = () => {}`,
	`Object.defineProperty(Object.prototype, "then", { get() { throw new Error("trap") } })`,
}

const overrideCode = `
class Cap extends RpcTarget { #n; constructor(n) { super(); this.#n = n } name() { return this.#n } }
export class Gadget extends DurableObject {
	ping() { return 1 }
	go() { %s; return 1 }
	async text(f, g) { return (await f("t")) + (await g("t")) + (await this.env.A.name()) + (await this.env.B.name()) }
	async probe(x, f, g) {
		const one = await f(x), two = await g(x);
		const A = await this.env.A.name(), B = await this.env.B.name();
		await this.ctx.storage.put("probe", x);
		const stored = await this.ctx.storage.get("probe");
		return { x, one, two, A, B, stored, list: [x, [x], []], c: new Cap("c"), d: new Cap("d"), f: () => "f" };
	}
	async fails() { throw new TypeError("mine") }
}`

// probeValue is of every kind that arrives whole.
func probeValue() any {
	return capnweb.Object{{Key: "a", Value: 1.0}, {Key: "b", Value: []any{"two", nil, true, []any{3.5}, capnweb.Object{}}},
		{Key: "x", Value: capnweb.Object{{Key: "0", Value: "zero"}, {Key: "name", Value: "n"}}},
		{Key: "date", Value: capnweb.Date(5)}, {Key: "bytes", Value: []byte{1, 2, 3}}, {Key: "none", Value: capnweb.Undefined{}}}
}

func named(name string) *capnweb.Stub {
	return capnweb.NewStub(capnweb.Methods{"name": func(context.Context, []any) (any, error) { return name, nil }})
}

// tagged is a function that gives what it is called with, and its tag.
func tagged(tag string) *capnweb.Stub {
	return capnweb.NewStub(capnweb.Func(func(_ context.Context, a []any) (any, error) {
		if text, ok := a[0].(string); ok {
			return tag + text, nil
		}
		return capnweb.Object{{Key: "tag", Value: tag}, {Key: "of", Value: a[0]}}, nil
	}))
}

func overrideSpec(top, in string) Spec {
	s := spec(hostileHead + top + fmt.Sprintf(overrideCode, in))
	s.Limits = Limits{Memory: 16 << 20, Soft: 2 * time.Second, Hard: 20 * time.Second}
	s.Bindings = []string{"A", "B"}
	s.Env = &capnweb.Table{Properties: map[string]func(context.Context) (any, error){
		"A": func(context.Context) (any, error) { return named("A"), nil },
		"B": func(context.Context) (any, error) { return named("B"), nil },
	}}
	return s
}

func TestHostileOverrides(t *testing.T) {
	c := startChild(t, realConfig())
	n := newNeighbour(t, c)
	for k, code := range append(append([]string{``}, overrides...), thenables...) {
		for _, at := range []string{"top", "method"} {
			t.Run(fmt.Sprintf("%s/%d %.60s", at, k, code), func(t *testing.T) {
				s := overrideSpec(code+";", "")
				if at == "method" {
					s = overrideSpec("", code)
				}
				n.t = t
				n.during(func() { overridden(t, c, s, k > len(overrides)) })
			})
		}
	}
	n.t = t
}

// overridden calls a gadget that has replaced something, and looks at what comes back.
func overridden(t *testing.T, c *Child, s Spec, thenable bool) {
	for range 2 { // the second start has an image
		i, err := c.Start(t.Context(), s)
		if err != nil {
			t.Error(err)
			return
		}
		main := i.Main()
		if v, err := await(t, main.Call(t.Context(), "go")); err != nil || v != 1.0 {
			t.Errorf("go gives %v, %v", v, err)
		}
		for range 2 {
			if v, err := await(t, main.Call(t.Context(), "text", tagged("f"), tagged("g"))); err != nil || v != "ftgtAB" {
				t.Errorf("text gives %v, %v", v, err)
			}
			if !thenable {
				probed(t, main)
			}
		}
		if _, err := await(t, main.Call(t.Context(), "fails")); err == nil || err.Error() != "TypeError: mine" {
			t.Errorf("fails gives %v", err)
		}
		if v, err := await(t, main.Call(t.Context(), "ping")); err != nil || v != 1.0 {
			t.Errorf("ping gives %v, %v", v, err)
		}
		if !inTime(func() bool { s := i.session.Stats(); return s.Exports == 1 && s.Imports == 1 && s.Calls == 0 }) {
			t.Errorf("it holds %+v", i.session.Stats())
		}
		if err := i.Err(); err != nil {
			t.Error(err)
		}
		i.Close()
	}
}

func probed(t *testing.T, main *capnweb.Stub) {
	x := probeValue()
	p := main.Call(t.Context(), "probe", x, tagged("f"), tagged("g"))
	defer p.Dispose()
	v, err := await(t, p)
	if err != nil {
		t.Errorf("probe: %v", err)
		return
	}
	o, _ := v.(capnweb.Object)
	of := func(tag string) any { return capnweb.Object{{Key: "tag", Value: tag}, {Key: "of", Value: x}} }
	for key, want := range map[string]any{"x": x, "one": of("f"), "two": of("g"), "A": "A", "B": "B", "stored": x,
		"list": []any{x, []any{x}, []any{}}} {
		if got, _ := o.Get(key); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
	for _, key := range []string{"c", "d"} {
		stub, _ := o.Get(key)
		if s, ok := stub.(*capnweb.Stub); !ok {
			t.Errorf("%s is %v", key, stub)
		} else if name, err := await(t, s.Call(t.Context(), "name")); err != nil || name != key {
			t.Errorf("the name of %s is %v, %v", key, name, err)
		}
	}
}
