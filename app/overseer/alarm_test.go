package overseer

import (
	"bytes"

	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolshed/app/code"
	"toolshed/app/store"
	"toolshed/runtime/storage"
)

const waker = `import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject {
  async alarm(info) { const kv = this.ctx.storage.kv; kv.put("rung", (kv.get("rung") ?? 0) + 1); if (kv.get("spin")) { kv.put("spin", false); await this.ctx.storage.sync(); while (true) {} } }
  async wakeIn(ms) { await this.ctx.storage.setAlarm(Date.now() + ms); }
  at() { return this.ctx.storage.getAlarm(); }
  rung() { return this.ctx.storage.kv.get("rung") ?? 0; }
  set(k, v) { this.ctx.storage.kv.put(k, v); }
  get(k) { return this.ctx.storage.kv.get(k) ?? null; }
}`

// indexed returns the due times in the index of a workspace.
func indexed(t *testing.T, k *Kernel, ref Ref) map[string]int64 {
	t.Helper()
	w, err := k.find(ref.Workspace)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	err = w.db.View(func(tx *store.Tx) error {
		return alarmRecords.Each(tx, func(id string, r alarmRecord) error {
			out[id] = r.Due
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func rung(t *testing.T, k *Kernel, ref Ref) func() bool {
	return func() bool { return must(t, k, ref, "rung") != 0.0 }
}

func TestAlarmWakes(t *testing.T) {
	k := openKernel(t, t.TempDir())
	ref := makeGadget(t, k, waker)
	must(t, k, ref, "wakeIn", 10)
	waitFor(t, rung(t, k, ref))
	waitFor(t, func() bool { return len(indexed(t, k, ref)) == 0 })
	if _, err := call(t, k, ref, "alarm"); err == nil || !strings.Contains(err.Error(), "nobody else") {
		t.Errorf("a caller gave the alarm: %v", err)
	}
}

// TestAlarmAfterRestart: many alarms that became due while the program did not run are given once it runs again, without
// anybody calling the gadgets.
func TestAlarmAfterRestart(t *testing.T) {
	folder := t.TempDir()
	k := openKernel(t, folder)
	first := makeGadget(t, k, waker)
	refs := []Ref{first}
	for n := range 2 * alarmStarts {
		ref, err := k.create(NewGadget{Title: fmt.Sprint("G", n), Blueprint: "test", Workspace: first.Workspace}, code.Files{"server.js": []byte(waker)})
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	for _, ref := range refs {
		must(t, k, ref, "set", "start", true)
	}
	for _, ref := range refs {
		must(t, k, ref, "wakeIn", 3_600_000)
	}
	if n := len(indexed(t, k, first)); n != len(refs) {
		t.Fatalf("%d entries for %d alarms", n, len(refs))
	}
	k.Close()
	for _, ref := range refs { // an hour later
		makeDue(t, k, ref)
	}
	k = openKernel(t, folder)
	waitFor(t, func() bool { return len(indexed(t, k, first)) == 0 })
	for _, ref := range refs {
		if n := must(t, k, ref, "rung"); n != 1.0 {
			t.Errorf("an alarm was given %v times", n)
		}
	}
}

// makeDue sets the alarm of a gadget of a closed kernel, and its index, to a time that is over.
func makeDue(t *testing.T, k *Kernel, ref Ref) {
	t.Helper()
	dir := k.workspaceDir(ref.Workspace)
	data, err := storage.Open(filepath.Join(dir, "gadgets", ref.Gadget+".db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := data.Alarm(); err != nil || a.Due == 0 {
		t.Fatalf("the gadget's file has the alarm %+v (%v)", a, err)
	}
	data.Apply(storage.Turn{Alarm: &storage.Alarm{Time: 1, Due: 1}}, nil)
	if err := data.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(filepath.Join(dir, "workspace.db"), schema)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *store.Tx) error { return alarmRecords.Write(tx, ref.Gadget, alarmRecord{Due: 1}) })
	if err != nil {
		t.Fatal(err)
	}
}

// TestAlarmEntries: an entry that is too early is put right by the gadget's file, and one of a gadget that is gone, or
// whose gadget is deleted, goes.
func TestAlarmEntries(t *testing.T) {
	folder := t.TempDir()
	k := openKernel(t, folder)
	ref := makeGadget(t, k, waker)
	must(t, k, ref, "wakeIn", 3_600_000)
	right := indexed(t, k, ref)[ref.Gadget]
	k.Close()
	db, err := store.Open(filepath.Join(k.workspaceDir(ref.Workspace), "workspace.db"), schema)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *store.Tx) error {
		if err := alarmRecords.Write(tx, "gone", alarmRecord{Due: 1}); err != nil {
			return err
		}
		return alarmRecords.Write(tx, ref.Gadget, alarmRecord{Due: 1})
	})
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	k = openKernel(t, folder)
	waitFor(t, func() bool {
		all := indexed(t, k, ref)
		return len(all) == 1 && all[ref.Gadget] == right
	})
	if n := must(t, k, ref, "rung"); n != 0.0 {
		t.Errorf("the alarm was given %v times before its time", n)
	}
	if err := k.DeleteGadget(ref); err != nil {
		t.Fatal(err)
	}
	if all := indexed(t, k, ref); len(all) != 0 {
		t.Errorf("a deleted gadget is in the index: %v", all)
	}
}

// TestAlarmOfAGadgetThatCannotStart: it is not tried again and again.
func TestAlarmOfAGadgetThatCannotStart(t *testing.T) {
	folder := t.TempDir()
	k := openKernel(t, folder)
	ref := makeGadget(t, k, waker)
	must(t, k, ref, "wakeIn", 3_600_000)
	k.Close()
	makeDue(t, k, ref)
	path := filepath.Join(k.workspaceDir(ref.Workspace), "gadgets", ref.Gadget+".db")
	if err := os.WriteFile(path, bytes.Repeat([]byte("no"), 50_000), 0o600); err != nil {
		t.Fatal(err)
	}
	k = openKernel(t, folder)
	w, err := k.find(ref.Workspace)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		w.alarms.mu.Lock()
		defer w.alarms.mu.Unlock()
		return w.alarms.retry[ref.Gadget].after >= firstBackoff && !w.alarms.busy[ref.Gadget]
	})
	if ids, wait := w.alarms.ready(time.Now()); len(ids) != 0 || wait <= 0 {
		t.Errorf("it is to be woken again at once: %v, %v", ids, wait)
	}
	if len(indexed(t, k, ref)) != 1 {
		t.Error("its alarm is lost")
	}
}

// TestAlarmBackoff: each failure doubles the wait, up to a bound; settling ends it. Nothing depends on the clock's past.
func TestAlarmBackoff(t *testing.T) {
	a := &alarms{due: map[string]int64{"a": 1, "b": time.Now().Add(time.Hour).UnixMilli()}, busy: map[string]bool{}, retry: map[string]backoff{"a": {time.Minute, time.Now().Add(time.Minute)}}}
	if ids, wait := a.ready(time.Now()); len(ids) != 0 || wait != alarmLook {
		t.Errorf("%v %v", ids, wait)
	}
	delete(a.retry, "a")
	if ids, _ := a.ready(time.Now()); len(ids) != 1 || ids[0] != "a" || !a.busy["a"] {
		t.Errorf("%v %v", ids, a.busy)
	}
	if ids, _ := a.ready(time.Now().Add(2 * time.Hour)); len(ids) != 1 || ids[0] != "b" { // the clock jumps
		t.Errorf("%v", ids)
	}
}

// TestBackups: a gadget that has changed leaves a backup when it ends; putting it back brings data and alarm back, and
// the file that was there is kept.
func TestBackups(t *testing.T) {
	folder := t.TempDir()
	k := openKernel(t, folder)
	ref := makeGadget(t, k, waker)
	must(t, k, ref, "set", "v", "old")
	must(t, k, ref, "wakeIn", 3_600_000)
	g, err := k.findGadget(ref)
	if err != nil {
		t.Fatal(err)
	}
	g.halt()
	list, err := k.Backups(ref)
	if err != nil || len(list) != 1 || list[0].Size == 0 {
		t.Fatalf("after its end the gadget has the backups %v (%v)", list, err)
	}
	must(t, k, ref, "set", "v", "new")
	g.backUp(g.running().data, 0, time.Now())
	if more, err := k.Backups(ref); err != nil || len(more) != 2 {
		t.Fatalf("the gadget has the backups %v (%v)", more, err)
	}
	g.halt()
	must(t, k, ref, "get", "v") // it runs while its data is put back
	path := filepath.Join(k.workspaceDir(ref.Workspace), "gadgets", ref.Gadget+".db")
	if err := k.RestoreBackup(ref, "../x"); Explain(err).Kind != "no-backup" {
		t.Errorf("a backup that is not there: %v", err)
	}
	w, _ := k.find(ref.Workspace)
	if err := w.alarms.forget(ref.Gadget); err != nil {
		t.Fatal(err)
	}
	if err := k.RestoreBackup(ref, list[0].Name); err != nil {
		t.Fatal(err)
	}
	if len(indexed(t, k, ref)) != 1 {
		t.Error("the alarm of the backup is not in the index")
	}
	if v := must(t, k, ref, "get", "v"); v != "old" {
		t.Errorf("after the restoring v is %v", v)
	}
	if at := must(t, k, ref, "at"); at == nil {
		t.Error("the alarm was not put back")
	}
	if aside, _ := filepath.Glob(path + ".damaged-*"); len(aside) != 1 {
		t.Errorf("set aside: %v", aside)
	}
}

// TestDamageOffersTheBackup: a gadget whose file is damaged says so and names the backup; putting that back heals it.
func TestDamageOffersTheBackup(t *testing.T) {
	folder := t.TempDir()
	k := openKernel(t, folder)
	ref := makeGadget(t, k, waker)
	must(t, k, ref, "set", "v", "kept")
	k.Close()
	path := filepath.Join(k.workspaceDir(ref.Workspace), "gadgets", ref.Gadget+".db")
	if err := os.WriteFile(path, bytes.Repeat([]byte("no"), 50_000), 0o600); err != nil {
		t.Fatal(err)
	}
	k = openKernel(t, folder)
	if _, err := call(t, k, ref, "get", "v"); err == nil {
		t.Fatal("a damaged file was read")
	}
	g, err := k.findGadget(ref)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return status(t, k, ref) == Stopped })
	if p := g.describe().Problem; p.Kind != "damaged" || !strings.Contains(p.Todo, "backup of") {
		t.Errorf("the person is told %+v", p)
	}
	list, err := k.Backups(ref)
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	if err := k.RestoreBackup(ref, list[0].Name); err != nil {
		t.Fatal(err)
	}
	if v := must(t, k, ref, "get", "v"); v != "kept" {
		t.Errorf("v is %v", v)
	}
}
