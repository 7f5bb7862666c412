package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"toolshed/runtime/capnweb"
	"toolshed/runtime/storage"
)

const alarmCode = `import { DurableObject, RpcTarget, restore } from "cloudflare:workers";
class Note extends RpcTarget {
	constructor(gadget, id) { super(); this.gadget = gadget; this.id = id }
	read() { return this.id + ":" + this.gadget.restored }
}
export class Gadget extends DurableObject {
	restored = 0;
	async alarm(info) {
		const s = this.ctx.storage;
		s.kv.put("rung", [...(s.kv.get("rung") ?? []), [info.scheduledTime, info.retryCount, info.isRetry, await s.getAlarm()]]);
		const next = s.kv.get("next");
		if (next) await s.setAlarm(next);
		if (s.kv.get("fail")) throw new Error("no luck");
	}
	set(key, value) { this.ctx.storage.kv.put(key, value) }
	rung() { return JSON.stringify(this.ctx.storage.kv.get("rung") ?? []) }
	at() { return this.ctx.storage.getAlarm() }
	setAlarm(ms) { return this.ctx.storage.setAlarm(ms) }
	drop() { return this.ctx.storage.deleteAlarm() }
	all() { return this.ctx.storage.deleteAll() }
	[restore](params) { this.restored++; return new Note(this, params.id) }
	async save(id) { await this.ctx.storage.put("stub", { note: this.ctx.restore({ id }), self: this.env.SELF }) }
	async load() { const { note } = await this.ctx.storage.get("stub"); return [await note.read(), await note.read()] }
	async give() { return (await this.ctx.storage.get("stub")).note }
	async binding() { return await (await this.ctx.storage.get("stub")).self.ping() }
	async transact(how) {
		const s = this.ctx.storage;
		return await s.transaction(async (txn) => {
			await txn.put("a", 1);
			await this.env.SELF.step("one");
			s.kv.put("b", 2);
			await txn.setAlarm(7777);
			await this.env.SELF.step("two");
			if (how === "throw") throw new RangeError("rolled back");
			if (how === "rollback") txn.rollback();
			return [s.kv.get("a") ?? null, s.kv.get("b") ?? null];
		});
	}
	async seen() { const s = this.ctx.storage; return [s.kv.get("a") ?? null, s.kv.get("b") ?? null, await s.getAlarm()] }
	sync(fail) {
		const s = this.ctx.storage;
		s.kv.put("a", 0);
		try {
			return s.transactionSync(() => {
				s.kv.put("a", 1);
				try { s.transactionSync(() => { s.kv.put("a", 2); s.kv.put("b", 2); throw new Error("inner") }) } catch {}
				if (fail) throw new Error("outer");
				return [s.kv.get("a"), s.kv.get("b") ?? null];
			});
		} catch (e) { return [e.message, s.kv.get("a"), s.kv.get("b") ?? null] }
	}
	// traces is what workerd 1.20261117.1 was seen to do, but for errors' texts.
	async traces() {
		const s = this.ctx.storage, out = [], t = async (f) => { try { return await f() } catch (e) { return "error " + e.message.slice(0, 14) } };
		const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
		const add = async (f) => out.push(await t(f) ?? null);
		await add(() => s.transactionSync(() => { s.kv.put("a", 1); throw new Error("x") }));
		await add(() => s.get("a"));
		await add(() => s.transaction(async (txn) => { await s.put("c", 1); await txn.put("d", 2); throw new Error("roll") }));
		await add(async () => [await s.get("c") ?? null, await s.get("d") ?? null]);
		await add(() => s.transaction(async (txn) => { await txn.put("e", 2); txn.rollback(); return await t(() => txn.get("e")) + "|" + await s.get("e") }));
		await add(() => s.transaction(async (txn) => { txn.rollback(); await s.put("f", 1); return 5 }));
		await add(() => s.get("f"));
		await add(() => s.transaction(async (txn) => { await txn.put("g", 1); await t(() => s.transaction(async (t2) => { await t2.put("h", 1); throw new Error("in") })); await s.transaction(async (t2) => { await t2.put("i", 1) }); return [await txn.get("g"), await txn.get("h") ?? null, await s.get("i")] }));
		let later;
		await add(() => s.transaction(async (txn) => { later = txn }));
		await add(() => later.get("g"));
		await add(() => s.transaction(async (txn) => await t(() => txn.deleteAll()) + "|" + await t(() => s.deleteAll())));
		await add(() => Promise.all([1, 2, 3].map((k) => s.transaction(async (x) => { const v = await x.get("n") ?? 0; await sleep(3); await this.env.SELF.step("n"); await x.put("n", v + k) }))).then(() => s.get("n")));
		const order = [], p = s.transaction(async () => { order.push("callback") });
		order.push("after");
		await p;
		out.push(order.join());
		await add(() => s.transaction(async () => { s.transactionSync(() => s.kv.put("z", 1)); return await s.sync() ?? "synced" }));
		// An inner one that had not begun when the outer one failed comes after that, as in workerd.
		await add(() => s.transaction(async () => { t(() => s.transaction(async (x) => { await sleep(3); await x.put("inner", 1) })); throw new Error("outer fails") }));
		await sleep(20);
		await add(() => s.get("inner"));
		// What was begun before does not run inside.
		let seen = "not yet";
		const timer = sleep(1).then(async () => { seen = await s.get("w") ?? null });
		await add(() => s.transaction(async (x) => { await x.put("w", 1); await sleep(30); const then = seen; x.rollback(); return then }));
		await timer;
		out.push(seen);
		return JSON.stringify(out);
	}
	spin() { this.ctx.storage.transactionSync(() => { this.ctx.storage.kv.put("a", "half"); while (true) {} }) }
	async spinInside() { await this.ctx.storage.transaction(async (txn) => { await txn.put("a", "half"); await this.env.SELF.step("x"); while (true) {} }) }
}`

// alarmGadget starts the gadget over a store, with a binding whose calls are handed to step, which may be nil.
func alarmGadget(t *testing.T, store Storage, step func(name string)) (*Instance, *lines) {
	t.Helper()
	l := &lines{}
	s := spec(alarmCode)
	s.Storage, s.Console = store, l.add
	s.Limits = Limits{Soft: 500 * time.Millisecond, Hard: 5 * time.Second}
	s.Bindings = []string{"SELF"}
	self := capnweb.Methods{
		"ping": func(context.Context, []any) (any, error) { return "pong", nil },
		"step": func(_ context.Context, a []any) (any, error) {
			if step != nil {
				step(a[0].(string))
			}
			return nil, nil
		},
	}
	s.Env = &capnweb.Table{Properties: map[string]func(context.Context) (any, error){
		"SELF": func(context.Context) (any, error) { return capnweb.NewStub(self), nil },
	}}
	return startReal(t, startChild(t, realConfig()), s), l
}

type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) add(line Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, line.Text)
}

func (l *lines) has(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.text, func(s string) bool { return strings.Contains(s, part) })
}

// says calls a method and compares its result as JSON.
func says(t *testing.T, i *Instance, want, method string, args ...any) {
	t.Helper()
	v, err := await(t, i.Main().Call(t.Context(), method, args...))
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	b, err := json.Marshal(v)
	if _, undefined := v.(capnweb.Undefined); undefined {
		b = []byte("undefined")
	}
	if err != nil || string(b) != want {
		t.Fatalf("%s gives %s (%v), want %s", method, b, err, want)
	}
}

func fails(t *testing.T, i *Instance, part, method string, args ...any) {
	t.Helper()
	if v, err := await(t, i.Main().Call(t.Context(), method, args...)); err == nil || !strings.Contains(err.Error(), part) {
		t.Fatalf("%s gives %v (%v), want an error with %q", method, v, err, part)
	}
}

func ring(t *testing.T, i *Instance, now int64, want bool) {
	t.Helper()
	given, err := i.Alarm(t.Context(), time.UnixMilli(now))
	if err != nil || given != want {
		t.Fatalf("at %d an alarm was given: %v (%v), want %v", now, given, err, want)
	}
}

func TestAlarm(t *testing.T) {
	store := storage.OpenMemory()
	defer store.Close()
	i, _ := alarmGadget(t, store, nil)
	says(t, i, "null", "at")
	fails(t, i, "valid time", "setAlarm", -1.0)
	fails(t, i, "needs a Date", "setAlarm", "soon")
	says(t, i, "undefined", "setAlarm", 1000.7)
	says(t, i, "1000", "at")
	ring(t, i, 999, false)
	ring(t, i, 1000, true)
	says(t, i, `"[[1000,0,false,null]]"`, "rung")
	says(t, i, "null", "at")
	ring(t, i, 1<<40, false)
	says(t, i, "undefined", "setAlarm", 2000)
	says(t, i, "undefined", "drop")
	says(t, i, "null", "at")
	says(t, i, "undefined", "setAlarm", 2000)
	says(t, i, "undefined", "all")
	says(t, i, "null", "at")
	says(t, i, "undefined", "set", "next", 5000)
	says(t, i, "undefined", "setAlarm", 3000)
	ring(t, i, 4000, true)
	says(t, i, "5000", "at") // the one that the handler set stands
	if a, _ := store.EarliestAlarm(); a != 5000 {
		t.Errorf("the store's alarm is %d", a)
	}
}

// TestAlarmRetries: a handler that throws is called again with a delay that grows, six times; getAlarm gives its time
// between; what it wrote stays; then it is given up with a line on the console.
func TestAlarmRetries(t *testing.T) {
	store := storage.OpenMemory()
	defer store.Close()
	i, l := alarmGadget(t, store, nil)
	says(t, i, "undefined", "set", "fail", true)
	says(t, i, "undefined", "setAlarm", 1000)
	for n := range AlarmRetries + 1 {
		a, err := store.Alarm()
		if err != nil || a.Time != 1000 || a.Retry != n {
			t.Fatalf("before round %d the alarm is %+v (%v)", n, a, err)
		}
		says(t, i, "1000", "at")
		if n > 0 { // a delay of its own, from the failure on
			ring(t, i, a.Due-int64(1000<<(n-1)), false)
		}
		ring(t, i, a.Due, true)
	}
	if a, _ := store.Alarm(); a != (storage.Alarm{}) {
		t.Errorf("the alarm was not given up: %+v", a)
	}
	says(t, i, `"[[1000,0,false,null],[1000,1,true,null],[1000,2,true,null],[1000,3,true,null],[1000,4,true,null],[1000,5,true,null],[1000,6,true,null]]"`, "rung")
	if !l.has("alarm() failed") || !l.has("failed 7 times and is given up: ") {
		t.Errorf("the console says %q", l.text)
	}
	says(t, i, "undefined", "set", "next", 9000)
	says(t, i, "undefined", "setAlarm", 8000)
	ring(t, i, 8000, true)
	says(t, i, "9000", "at") // it failed, and had set another: that one stands
	if a, _ := store.Alarm(); a.Retry != 0 {
		t.Errorf("the new alarm is %+v", a)
	}
}

// A clock that was put back does not keep a retry waiting for ever.
func TestAlarmDue(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	for _, c := range []struct {
		a    storage.Alarm
		want bool
	}{
		{storage.Alarm{}, false},
		{storage.Alarm{Time: 1_000_000, Due: 1_000_000}, true},
		{storage.Alarm{Time: 1_000_001, Due: 1_000_001}, false},
		{storage.Alarm{Time: 1, Due: 1_002_000, Retry: 1}, false},
		{storage.Alarm{Time: 1, Due: 1_002_001, Retry: 1}, true},
		{storage.Alarm{Time: 1, Due: 1_064_000, Retry: 6}, false},
		{storage.Alarm{Time: 1 << 40, Due: 1 << 40}, false},
	} {
		if got := AlarmDue(c.a, now); got != c.want {
			t.Errorf("%+v is due: %v", c.a, got)
		}
	}
}

// TestTransaction: from outside a transaction is all or nothing, however many turns it takes; messages that leave inside
// do not wait for it, and other calls do.
func TestTransaction(t *testing.T) {
	for how, want := range map[string]string{"commit": "[1,2]", "rollback": "[null,null]", "throw": ""} {
		t.Run(how, func(t *testing.T) {
			store := storage.OpenMemory()
			defer store.Close()
			check := func(string) {
				list, _ := store.List(storage.ListOptions{})
				if a, _ := store.Alarm(); len(list) > 0 || a.Time != 0 {
					t.Errorf("inside the transaction the store holds %d keys and the alarm %+v", len(list), a)
				}
			}
			i, _ := alarmGadget(t, store, check)
			done := i.Main().Call(t.Context(), "transact", how)
			seen := i.Main().Call(t.Context(), "seen") // waits for its end
			v, err := await(t, done)
			if got := fmt.Sprint(asJSON(v)); how != "throw" && (err != nil || got != want) {
				t.Errorf("it gives %s (%v), want %s", got, err, want)
			} else if how == "throw" && (err == nil || !strings.Contains(err.Error(), "rolled back")) {
				t.Errorf("it gives %v (%v)", v, err)
			}
			after := "[null,null,null]"
			if how == "commit" {
				after = "[1,2,7777]"
			}
			if v, err := await(t, seen); err != nil || asJSON(v) != after {
				t.Errorf("afterwards there is %s (%v), want %s", asJSON(v), err, after)
			}
		})
	}
}

func TestTransactionTraces(t *testing.T) {
	store := storage.OpenMemory()
	defer store.Close()
	i, _ := alarmGadget(t, store, nil)
	want := `["error x",null,"error roll",[null,null],"error get() came aft|undefined",5,1,[1,null,1],null,"error get() came aft",` +
		`"error deleteAll() ca|error deleteAll() ca",6,"after,callback","synced","error outer fails",1,"not yet",null]`
	v, err := await(t, i.Main().Call(t.Context(), "traces"))
	if err != nil || v != want {
		t.Errorf("got  %v (%v)\nwant %s", v, err, want)
	}
	says(t, i, "null", "at")
}

func asJSON(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// TestInterruptedTransaction: a turn that is cut off inside a transaction takes it back, and the instance lives on.
func TestInterruptedTransaction(t *testing.T) {
	store := storage.OpenMemory()
	defer store.Close()
	i, _ := alarmGadget(t, store, nil)
	says(t, i, "[1,null]", "sync", false)
	says(t, i, `["outer",0,null]`, "sync", true)
	for _, method := range []string{"spin", "spinInside"} {
		fails(t, i, "interrupted", method)
		says(t, i, "[0,null,null]", "seen")
		says(t, i, "[1,2]", "transact", "commit")
		says(t, i, "undefined", "all")
		says(t, i, `["outer",0,null]`, "sync", true)
	}
}

// TestPersistentStub: what ctx.restore gives can be stored and read back after a restart; it is restored once, when it is
// used, and passes on like any stub. A binding is kept by its name.
func TestPersistentStub(t *testing.T) {
	store := storage.OpenMemory()
	defer store.Close()
	i, _ := alarmGadget(t, store, nil)
	says(t, i, "undefined", "save", "n1")
	i.Close()
	i, _ = alarmGadget(t, store, nil)
	says(t, i, `["n1:1","n1:1"]`, "load")
	says(t, i, `"pong"`, "binding")
	v, err := await(t, i.Main().Call(t.Context(), "give"))
	if err != nil {
		t.Fatal(err)
	}
	note, ok := v.(*capnweb.Stub)
	if !ok {
		t.Fatalf("the stub came as %T", v)
	}
	defer note.Dispose()
	if v, err := await(t, note.Call(t.Context(), "read")); err != nil || v != "n1:2" {
		t.Errorf("the passed stub reads %v (%v)", v, err)
	}
}
