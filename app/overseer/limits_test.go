package overseer

import (
	"context"
	"strings"
	"testing"
	"time"

	"toolshed/runtime/capnweb"
)

const writer = `import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject {
  write(k, bytes) { this.ctx.storage.kv.put(k, "x".repeat(bytes)); return k; }
  drop(k) { return this.ctx.storage.kv.delete(k); }
  has(k) { return this.ctx.storage.kv.get(k) !== undefined; }
  async tries(other, k, bytes) { try { return await other.write(k, bytes); } catch (e) { return e.name + ": " + e.message; } }
  async transact(f) {
    this.seen = "alive";
    try {
      return await this.ctx.storage.transaction(async (txn) => { await txn.put("half", 1); await f(); });
    } catch (e) { return e.name + ": " + e.message; }
  }
  async small() { await this.ctx.storage.transaction((txn) => txn.put("whole", 1)); return this.seen; }
}`

// What does not fit into a gadget's storage is not kept, and whoever called hears why, a gadget too; what was there before
// stays, and room can be made.
func TestQuota(t *testing.T) {
	k := openKernel(t, t.TempDir(), func(o *Options) { o.Quota = 100_000 })
	full, other := makeGadget(t, k, writer), makeGadget(t, k, writer)
	stub, err := k.Connect(full)
	if err != nil {
		t.Fatal(err)
	}
	defer stub.Dispose()
	if got := must(t, k, other, "tries", stub, "a", 60_000); got != "a" {
		t.Fatalf("what fits: %v", got)
	}
	const words = "The gadget was stopped: its storage is full: its storage limit is reached: what its last call wrote was not kept, " +
		"and what was there before is. Delete some of what it stores, then start it again."
	if got := must(t, k, other, "tries", stub, "b", 60_000); got != "Error: "+words {
		t.Errorf("a gadget hears %v", got)
	}
	waitFor(t, func() bool { return status(t, k, full) == Idle })
	_, err = call(t, k, full, "write", "b", 60_000)
	if p := Explain(err); p.Kind != "quota" || p.Error() != words {
		t.Errorf("a person hears %v: %v", p.Kind, p)
	}
	waitFor(t, func() bool { return status(t, k, full) == Idle })
	if a, b := must(t, k, full, "has", "a"), must(t, k, full, "has", "b"); a != true || b != false {
		t.Errorf("a is there: %v, b is there: %v", a, b)
	}
	must(t, k, full, "drop", "a")
	if got := must(t, k, other, "tries", stub, "b", 60_000); got != "b" {
		t.Errorf("after room was made: %v", got)
	}
}

// A transaction that waits for what does not come is rolled back after 30 s, and the gadget hears of it; it goes on, with the
// calls that waited.
func TestATransactionEndsInTime(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	k := openKernel(t, t.TempDir())
	ref := makeGadget(t, k, writer)
	stub, err := k.Connect(ref)
	if err != nil {
		t.Fatal(err)
	}
	defer stub.Dispose()
	never, _, _ := capnweb.NewPromise()
	asked := make(chan struct{}, 1)
	f := capnweb.NewStub(capnweb.Func(func(context.Context, []any) (any, error) { asked <- struct{}{}; return never, nil }))
	defer f.Dispose()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	answer := stub.Call(ctx, "transact", f)
	<-asked
	waits := stub.Call(ctx, "has", "half")
	got, err := answer.Await(ctx)
	if text, _ := got.(string); err != nil || !strings.HasPrefix(text, "Error: the transaction took more than 30 s and was rolled back") {
		t.Errorf("the gadget hears %v, %v", got, err)
	}
	if half, err := waits.Await(ctx); err != nil || half != false {
		t.Errorf("half of the transaction is there: %v, %v", half, err)
	}
	if seen, err := stub.Call(ctx, "small").Await(ctx); err != nil || seen != "alive" {
		t.Errorf("the next transaction: %v, %v", seen, err)
	}
	if whole := must(t, k, ref, "has", "whole"); whole != true {
		t.Error("the next transaction is not there")
	}
}
