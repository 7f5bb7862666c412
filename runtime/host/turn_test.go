//go:build unix

package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolshed/runtime/host/wire"
	"toolshed/runtime/storage"
)

const storeCode = `export class Gadget {
	constructor(x) { this.h = x.host }
	put([k, v]) { this.h.put(k, v) }
	get(k) { return this.h.get(k) ?? null }
	remove(k) { return this.h.remove(k) }
	list(o) { return JSON.parse(this.h.list(JSON.stringify(o ?? {}))) }
	clear() { this.h.clear(); return this.list() }
	many(n) { for (let i = 0; i < n; i++) this.h.put("m" + i, "x"); this.h.remove("m0"); return this.list({ prefix: "m", limit: 2 }) }
	rewind() { this.h.put("b", "2"); this.h.remove("a"); return [this.list({ reverse: true }), this.h.get("a") ?? null] }
	bad(k) { this.h.put(k, "v") }
	ping() { return 1 }
	say(n) { for (let i = 0; i < n; i++) this.h.log("info", "line " + i) }
	long() { this.h.log("strange", "é".repeat(10000)) }
	spam(n) { for (;;) this.h.send("x".repeat(n)) }
	wake(ms) { this.h.wake(Date.now() + ms) }
	random(n) { return this.h.random(n).length }
	tricky() { return this.h.put({ toString: () => { this.h.put("k", "v"); return "k" } }, "v") }
	seed() { return Math.random() }
}`

func TestStorage(t *testing.T) {
	child := startChild(t, fakeConfig())
	s := spec(storeCode)
	store := storage.OpenMemory()
	s.Storage = store
	r, err := startRaw(t, child, s)
	if err != nil {
		t.Fatal(err)
	}
	r.want("get", "a", "null")
	r.want("put", []string{"a", "1"}, "undefined")
	r.want("get", "a", `"1"`)
	r.want("put", []string{"ключ", "значение"}, "undefined")
	r.want("list", nil, `[["a","1"],["ключ","значение"]]`)
	r.want("rewind", nil, `[[["ключ","значение"],["b","2"]],null]`)
	r.want("many", 5, `[["m1","x"],["m2","x"]]`)
	r.want("remove", "m4", "true")
	r.want("remove", "m4", "false")
	r.want("clear", nil, "[]")
	r.want("list", nil, "[]")
	r.want("random", 65536, "65536")
	for _, m := range []string{"bad", "tricky"} {
		for _, key := range []string{"", strings.Repeat("k", 2049)} {
			if _, err := r.call(m, key); err == nil || kind(err) != "" {
				t.Fatalf("%s(%.10q): %v", m, key, err)
			}
		}
	}
	if entries, err := store.List(storage.ListOptions{}); err != nil || len(entries) != 0 {
		t.Fatal(entries, err)
	}
	s2 := s
	r2, err := startRaw(t, child, s2)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := r.call("seed", nil)
	b, _ := r2.call("seed", nil)
	if a == b {
		t.Fatal("two instances draw the same random numbers")
	}
}

// No message of a turn leaves before its commit, later ones wait behind it, and a failed commit ends the instance.
func TestMessagesWaitForCommit(t *testing.T) {
	child := startChild(t, fakeConfig())
	i := child.newInstance(spec(storeCode))
	i.child = child
	// The release queue is tested by itself: a commit that does not come, and turns behind it.
	store := storage.OpenMemory()
	first := store.Apply(storage.Turn{Writes: []storage.Write{{Key: "k"}}}, nil)
	if err := first.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	store.Close()
	failed := store.Apply(storage.Turn{Writes: []storage.Write{{Key: "k"}}}, nil)
	go i.run()
	i.waiting = []release{{}} // one turn is waiting
	i.pass(release{messages: [][]byte{[]byte("two")}})
	i.pass(release{messages: [][]byte{[]byte("three")}, commit: failed})
	i.pass(release{messages: [][]byte{[]byte("four")}})
	i.mu.Lock()
	early := len(i.inbox)
	i.waiting[0] = release{messages: [][]byte{[]byte("one")}, commit: first}
	i.mu.Unlock()
	if early != 0 {
		t.Fatal("a message overtook a commit")
	}
	i.releaser.Add(1)
	i.releaseWaiting()
	for _, want := range []string{"one", "two"} {
		m, err := transport{i}.Receive(t.Context())
		if err != nil || string(m) != want {
			t.Fatalf("%s, %v", m, err)
		}
	}
	if m, err := (transport{i}).Receive(t.Context()); kind(err) != KindStorage {
		t.Fatalf("%s, %v", m, err)
	}
	<-i.Done()
}

func TestCommitFailureEndsInstance(t *testing.T) {
	child := startChild(t, fakeConfig())
	s := spec(storeCode)
	store := storage.OpenMemory()
	s.Storage = store
	r, err := startRaw(t, child, s)
	if err != nil {
		t.Fatal(err)
	}
	r.want("put", []string{"a", "1"}, "undefined")
	store.Close()
	if _, err := r.call("put", []string{"a", "2"}); kind(err) != KindStorage {
		t.Fatal(err)
	}
	<-r.Done()
}

func TestConsole(t *testing.T) {
	child := startChild(t, fakeConfig())
	r := mustStart(t, child, storeCode)
	if _, err := r.call("long", nil); err != nil {
		t.Fatal(err)
	}
	if l := <-r.line; l.Level != "log" || len(l.Text) > wire.MaxLine+8 || !strings.HasSuffix(l.Text, "é…") {
		t.Fatalf("%s %d", l.Level, len(l.Text))
	}
	if _, err := r.call("say", 5000); err != nil {
		t.Fatal(err)
	}
	lines, dropped := 0, 0
	timeout := time.After(20 * time.Second)
	for lines+dropped < 5000 {
		select {
		case l := <-r.line:
			var n int
			if _, err := fmt.Sscanf(l.Text, "%d lines dropped", &n); err == nil && l.Level == "warn" {
				dropped += n
			} else {
				lines++
			}
		case <-timeout:
			t.Fatalf("%d lines, %d dropped", lines, dropped)
		}
	}
	if lines > 20*wire.LineBurst || dropped == 0 {
		t.Fatalf("%d lines, %d dropped", lines, dropped)
	}
}

func TestProtocolBounds(t *testing.T) {
	child := startChild(t, fakeConfig())
	for _, n := range []int{1 << 20, wire.MaxMessage + 1} {
		s := spec(storeCode)
		s.Limits.Memory = 256 << 20
		r, err := startRaw(t, child, s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.call("spam", n); kind(err) != KindProtocol {
			t.Fatal(err)
		}
	}
	mustStart(t, child, storeCode).want("ping", nil, "1")
}

// An instance may write and say more in all than it may at once.
func TestCreditComesBack(t *testing.T) {
	r := mustStart(t, startChild(t, fakeConfig()), `export class Gadget {
		constructor(x) { this.h = x.host }
		write(n) { this.h.put("k" + n, "x".repeat(2e6)); return n }
		say(n) { this.h.send("noise=" + "x".repeat(2e6)); return n }
		small(n) { return n } }`)
	for n := range 40 {
		r.want("write", n, fmt.Sprint(n))
		r.want("say", n, fmt.Sprint(n))
	}
	for n := range 3 * wire.MaxUnackedN {
		r.want("small", n, fmt.Sprint(n))
	}
}

func TestWake(t *testing.T) {
	r := mustStart(t, startChild(t, fakeConfig()), storeCode)
	if _, err := r.call("wake", 20); err != nil {
		t.Fatal(err)
	}
	if _, err := r.answer("woke"); err != nil {
		t.Fatal(err)
	}
}

// Waiting for the storage does not count as run time.
func TestClockStandsStillWhileWaiting(t *testing.T) {
	child := startChild(t, fakeConfig())
	s := short(storeCode, 100*time.Millisecond, 150*time.Millisecond)
	s.Storage = &lateStore{storage.OpenMemory(), 300 * time.Millisecond}
	r, err := startRaw(t, child, s)
	if err != nil {
		t.Fatal(err)
	}
	r.want("get", "k", "null")
}

type lateStore struct {
	*storage.Store
	wait time.Duration
}

func (s *lateStore) Get(key string) ([]byte, bool, error) {
	time.Sleep(s.wait)
	return s.Store.Get(key)
}

func TestChildDeath(t *testing.T) {
	child := startChild(t, fakeConfig())
	a, b := mustStart(t, child, storeCode), mustStart(t, child, storeCode)
	if err := syscall.Kill(child.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*raw{a, b} {
		<-r.Done()
		if kind(r.Err()) != KindChild {
			t.Fatal(r.Err())
		}
	}
	<-child.Done()
	if _, err := startRaw(t, child, spec(storeCode)); kind(err) != KindChild {
		t.Fatal(err)
	}
}

// A child that is alive and does not answer is killed.
func TestChildThatHangs(t *testing.T) {
	child := startChild(t, fakeConfig())
	r := mustStart(t, child, storeCode)
	if err := syscall.Kill(child.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	r.post("ping", nil)
	select {
	case <-child.Done():
	case <-time.After(40 * time.Second):
		t.Fatal("it is still there")
	}
	if kind(r.Err()) != KindChild {
		t.Fatal(r.Err())
	}
}

func TestOtherBuildIsRefused(t *testing.T) {
	c := fakeConfig()
	c.Build = "another build"
	if _, err := StartChild(t.Context(), c); !errors.Is(err, ErrBuild) {
		t.Fatal(err)
	}
}

func TestSilentChildIsKilled(t *testing.T) {
	c := fakeConfig()
	c.Command = self("silent")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := StartChild(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

func TestCloseReaps(t *testing.T) {
	child := startChild(t, fakeConfig())
	r := mustStart(t, child, storeCode)
	pid := child.PID()
	child.Close()
	child.Close()
	<-r.Done()
	if kind(r.Err()) != KindClosed {
		t.Fatal(r.Err())
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Fatalf("process %d: %v", pid, err)
	}
}

func TestInstanceClose(t *testing.T) {
	child := startChild(t, fakeConfig())
	other := mustStart(t, child, storeCode)
	c := mustStart(t, child, `export class Gadget { loop() { while (true) {} } }`)
	c.post("loop", nil)
	c.Close()
	other.want("ping", nil, "1")
}

func TestNoOrphans(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(exe, "orphan").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var pid int
	if _, err := fmt.Sscan(string(out), &pid); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(b), ") Z ") {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the child outlived its kernel")
		}
	}
}

// A child that lies is told apart from the program: nothing it sends ends the kernel.
func TestMalformedFrames(t *testing.T) {
	for name, f := range map[string]wire.Frame{
		"unknown kind":    {Kind: 200, Inst: 1, Body: nil},
		"half a turn":     {Kind: wire.Turn, Inst: 1, Body: []byte{0, 0, 5, 3}},
		"huge count":      {Kind: wire.Turn, Inst: 1, Body: binary.AppendUvarint([]byte{0, 0, 0}, 1<<60)},
		"late alarm":      {Kind: wire.Turn, Inst: 1, Body: wire.Pack(0, 0).Uint(0).Bool(false).Uint(wire.MaxTime + 2).Uint(0).Uint(0).Done()[wire.Head:]},
		"unknown failure": {Kind: wire.Failed, Inst: 1, Body: wire.Pack(0, 0).Text("odd").Text("x").Done()[wire.Head:]},
		"unknown ask":     {Kind: wire.Ask, Inst: 1, Body: []byte{9}},
		"negative dealt":  {Kind: wire.Turn, Inst: 1, Body: append(binary.AppendUvarint(nil, 1<<64-1), 0, 0, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			r := mustStart(t, startChild(t, fakeConfig()), storeCode)
			r.take(f)
			<-r.Done()
			if kind(r.Err()) != KindProtocol {
				t.Fatal(r.Err())
			}
		})
	}
}
