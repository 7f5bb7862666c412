package overseer

import (
	"testing"
	"time"

	"toolshed/app/code"
	"toolshed/runtime/storage"
)

// backedUp returns what each backup of the gadget has under the key v, newest first.
func backedUp(t *testing.T, k *Kernel, ref Ref) (values []string) {
	t.Helper()
	list, err := storage.Backups(gadgetOf(t, k, ref).workspace.backupFolder(ref.Gadget))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range list {
		data, err := storage.Open(b.Path, nil)
		if err != nil {
			t.Fatal(err)
		}
		v, _, err := data.Get("v")
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, string(v))
		data.Close()
	}
	return values
}

// Once a day what has changed is backed up, whether the gadget runs or not; what has not changed, or never stored anything,
// is not.
func TestDailyBackups(t *testing.T) {
	k := openKernel(t, t.TempDir())
	rests, runs, empty := makeGadget(t, k, waker), makeGadget(t, k, waker), makeGadget(t, k, waker)
	start := time.Now()
	must(t, k, rests, "set", "v", 1)
	gadgetOf(t, k, rests).halt()
	must(t, k, rests, "set", "v", 2)
	gadgetOf(t, k, rests).halt() // its newest backup is not an hour old
	must(t, k, runs, "set", "v", 1)
	must(t, k, empty, "rung")
	gadgetOf(t, k, empty).halt()
	must(t, k, empty, "rung")
	count := func(when string, now time.Time, want ...int) {
		t.Helper()
		k.backUpDaily(now)
		for n, ref := range []Ref{rests, runs, empty} {
			if got := len(backedUp(t, k, ref)); got != want[n] {
				t.Errorf("%s: gadget %d has %d backups, want %d", when, n, got, want[n])
			}
		}
	}
	count("at once", start, 1, 1, 0)
	count("before a day is over", start.Add(23*time.Hour), 1, 1, 0)
	must(t, k, runs, "set", "v", 2)
	count("after a day", start.Add(25*time.Hour), 2, 2, 0)
	count("after a day without changes", start.Add(50*time.Hour), 2, 2, 0)
	for _, ref := range []Ref{rests, runs} {
		if v := backedUp(t, k, ref); v[0] == v[1] {
			t.Errorf("both backups hold %q", v[0])
		}
		if got := must(t, k, ref, "get", "v"); got != 2.0 {
			t.Errorf("v is %v", got)
		}
	}
}

// The kernel looks by itself whether a backup is due.
func TestBackupsAreLookedAt(t *testing.T) {
	k := openKernel(t, t.TempDir(), func(o *Options) {
		o.backupLook = 5 * time.Millisecond
		o.now = func() time.Time { return time.Now().Add(25 * time.Hour) }
	})
	ref := makeGadget(t, k, waker)
	for n := 1; n <= 2; n++ {
		must(t, k, ref, "set", "v", n)
		waitFor(t, func() bool { return len(backedUp(t, k, ref)) >= n })
	}
}

// A call that comes while somebody has the gadget's data waits, and is answered.
func TestACallWaitsForTheData(t *testing.T) {
	k := openKernel(t, t.TempDir())
	ref := makeGadget(t, k, waker)
	must(t, k, ref, "set", "v", 1)
	g := gadgetOf(t, k, ref)
	g.halt()
	data, err := g.openStore()
	if err != nil {
		t.Fatal(err)
	}
	holder := &run{stop: func() {}, ended: make(chan struct{})}
	g.mu.Lock()
	g.holder = holder
	g.mu.Unlock()
	answered := make(chan any, 1)
	go func() {
		v, err := call(t, k, ref, "get", "v")
		if err != nil {
			v = err
		}
		answered <- v
	}()
	var early any
	select {
	case early = <-answered:
	case <-time.After(time.Second): // longer than a file's lock is waited for
	}
	data.Close()
	g.mu.Lock()
	g.holder = nil
	g.mu.Unlock()
	close(holder.ended)
	if early != nil {
		t.Fatalf("while the data is held: %v", early)
	}
	if v := <-answered; v != 1.0 {
		t.Errorf("afterwards: %v", v)
	}
}

// Before other code runs on the data there is a backup of it, however young the last one is; the same code makes none.
func TestBackupBeforeOtherCode(t *testing.T) {
	folder := t.TempDir()
	k := openKernel(t, folder)
	ref := makeGadget(t, k, waker)
	g := gadgetOf(t, k, ref)
	must(t, k, ref, "set", "v", 1)
	g.halt()
	must(t, k, ref, "set", "v", 2)
	g.halt()
	must(t, k, ref, "set", "v", 3)
	g.halt()
	if got := backedUp(t, k, ref); len(got) != 1 {
		t.Fatalf("under the same code there are the backups %q", got)
	}
	spoiler := `import { DurableObject } from "cloudflare:workers";
		export class Gadget extends DurableObject { constructor(c, e) { super(c, e); c.storage.kv.put("v", "spoilt"); } get() { return this.ctx.storage.kv.get("v") } }`
	change := code.Change{Author: "Ada", Message: "spoil\n", Time: time.Now()}
	if _, err := g.workspace.code.Commit(ref.Gadget, code.Files{"server.js": []byte(spoiler)}, change); err != nil {
		t.Fatal(err)
	}
	if got := must(t, k, ref, "get"); got != "spoilt" {
		t.Fatalf("v is %v", got)
	}
	got := backedUp(t, k, ref)
	if len(got) != 2 || got[0] == got[1] {
		t.Fatalf("before the other code ran the backups were %q", got)
	}
	k.Close()
	k = openKernel(t, folder)
	must(t, k, ref, "get")
	if now := backedUp(t, k, ref); len(now) != 2 {
		t.Errorf("the same code again: %q", now)
	}
	list, err := k.Backups(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.RestoreBackup(ref, list[0].Name); err != nil {
		t.Fatal(err)
	}
	data, err := gadgetOf(t, k, ref).openStore()
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	if v, _, err := data.Get("v"); string(v) != got[0] {
		t.Errorf("put back: %q, want %q (%v)", v, got[0], err)
	}
}
