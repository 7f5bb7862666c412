package host

import (
	"strings"
	"testing"
	"time"
)

// A result or an error whose writing runs for ever is answered with an error, by name of the limit, and the instance goes on.
func TestEveryCallIsAnswered(t *testing.T) {
	child := startChild(t, realConfig())
	for _, code := range []string{
		`return { get a() { for (;;); } }`,
		`return new Proxy({}, { ownKeys() { for (;;); } })`,
		`throw { toString() { for (;;); }, get stack() { for (;;); } }`,
		`for (;;);`,
		`await null; for (;;);`,
	} {
		s := spec(`import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject { ping() { return 1 } async go() { ` + code + ` } }`)
		s.Limits = Limits{Soft: 300 * time.Millisecond, Hard: 20 * time.Second}
		i := startReal(t, child, s)
		_, err := await(t, i.Main().Call(t.Context(), "go"))
		if err == nil || !strings.Contains(err.Error(), "CPU time") {
			t.Errorf("%s: %v", code, err)
		}
		if v, err := await(t, i.Main().Call(t.Context(), "ping")); err != nil || v != 1.0 {
			t.Errorf("%s: afterwards ping gives %v, %v", code, v, err)
		}
	}
}

// What was written before sync is kept when the gadget dies after it.
func TestSyncEndsTheTurn(t *testing.T) {
	child := startChild(t, realConfig())
	s := spec(`import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject {
  async go() { await this.ctx.storage.put("before", 1); await this.ctx.storage.sync(); await this.ctx.storage.put("after", 1); const a = []; for (;;) a.push(new Uint8Array(1 << 20)) }
}`)
	i := startReal(t, child, s)
	if _, err := await(t, i.Main().Call(t.Context(), "go")); err == nil {
		t.Fatal("go came back")
	}
	<-i.Done()
	if _, found, err := s.Storage.Get("before"); err != nil || !found {
		t.Errorf("what was written before sync is lost (%v)", err)
	}
	if _, found, _ := s.Storage.Get("after"); found {
		t.Error("half of a turn that died was kept")
	}
}
