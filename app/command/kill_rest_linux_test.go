package command

import (
	"context"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The gadget of the test of alarms. Its alarm is a turn that begins, a pause, and a turn that ends and sets the next alarm; each
// turn changes two keys, the first also a document that is stored in pieces.
const clock = `import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject {
  async alarm() {
    const s = this.ctx.storage, begun = ((await s.get("abegun")) ?? 0) + 1;
    await s.put({ abegun: begun, zbegun: begun, document: String(begun).repeat(30000) });
    await new Promise((done) => setTimeout(done, 4));
    const ended = ((await s.get("aended")) ?? 0) + 1;
    await s.put({ aended: ended, zended: ended });
    await s.setAlarm(Date.now() + 1);
  }
  async begin() { await this.ctx.storage.setAlarm(Date.now()); }
  async read() {
    const s = this.ctx.storage, get = async (k) => (await s.get(k)) ?? 0, begun = await get("abegun");
    const whole = begun === 0 || (await s.get("document")) === String(begun).repeat(30000);
    return { begun, ended: await get("aended"), whole: whole && begun === await get("zbegun") && await get("aended") === await get("zended") };
  }
}`

type clockState struct {
	Begun float64 `json:"begun"`
	Ended float64 `json:"ended"`
	Whole bool    `json:"whole"`
}

// However the program or its child is killed while an alarm is given: every turn of its handler is whole or not there, and it
// is given again until it has ended. No call is needed for that but the one that looks.
func TestKilledInMidAlarm(t *testing.T) {
	kills := max(4, count(t, "TOOLSHED_KILLS", 6)/5)
	p := newProgram(t, buildProgram(t, "webkit2_41"), clock)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(kills)*time.Minute)
	defer cancel()
	p.start()
	client, err := p.attach(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := callLedger(ctx, client, "begin"); err != nil {
		t.Fatal(err)
	}
	client.Close()
	var last clockState
	for k := range kills {
		time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond)
		if k%2 == 0 {
			if !p.killChildren() {
				t.Fatal("there is no child")
			}
		} else {
			p.kill()
			p.start()
		}
		last = p.nextAlarm(ctx, last)
	}
	broken := last.Begun - last.Ended
	t.Logf("%d kills, %v of them between the turns of an alarm, which was given %v times", kills, broken, last.Begun)
	if broken < 1 {
		t.Error("no alarm was cut off: nothing is shown")
	}
}

// nextAlarm waits until an alarm more has ended, and returns what there is then.
func (p *program) nextAlarm(ctx context.Context, last clockState) clockState {
	p.t.Helper()
	first := true
	from := last.Ended
	for range 300 {
		var now clockState
		p.readInto(ctx, &now)
		if !now.Whole || now.Ended < last.Ended || now.Begun < last.Begun || now.Begun < now.Ended {
			p.t.Fatalf("after %+v there is %+v", last, now)
		}
		if first {
			from, first = now.Ended, false
		}
		if last = now; now.Ended > from {
			return now
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.t.Fatalf("the alarm is not given again: %+v", last)
	return last
}

// However the program or its child is killed while gadgets are evicted all the time: what holds for the others holds, and no
// call fails but by a kill.
func TestKilledInMidEviction(t *testing.T) {
	kills := count(t, "TOOLSHED_KILLS", 6)
	const lives = `constructor(ctx, env) { super(ctx, env); const kv = ctx.storage.kv; kv.put("lives", (kv.get("lives") ?? 0) + 1); }
  async read() { return { ...(await this.read2()), lives: this.ctx.storage.kv.get("lives") }; }
  async `
	server := strings.Replace(strings.Replace(ledger, "async read(", "async read2(", 1), "async ", lives, 1)
	p := newProgram(t, buildProgram(t, "webkit2_41,hasty"), server)
	p.pause = 20 * time.Millisecond
	for _, w := range killOften(t, p, kills, uint64(time.Now().UnixNano()), func(w []string) bool { return len(w) > 5 }) {
		t.Error(w)
	}
	if p.cmd == nil {
		p.start()
	}
	var s struct{ Lives int }
	p.readInto(t.Context(), &s)
	t.Logf("%d kills, %d starts of the gadget", kills, s.Lives)
	if s.Lives < 3*kills {
		t.Errorf("the gadget was started %d times in %d kills: nothing is shown", s.Lives, kills)
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
}
