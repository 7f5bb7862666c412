package host

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"toolshed/runtime/host/wire"
	"toolshed/runtime/storage"
)

// alone is an instance without a process: what it is sent is read and thrown away.
func alone(t *testing.T, s Spec) *Instance {
	c := &Child{out: wire.NewOutbox(io.Discard), instances: map[uint32]*Instance{}}
	t.Cleanup(c.out.Close)
	i := c.newInstance(s)
	go i.run()
	t.Cleanup(i.Close)
	return i
}

// heldStore is a store whose commits wait until let is called. Its file must grow, and a reader of it keeps that from
// happening.
func heldStore(t *testing.T) (store *storage.Store, let func()) {
	store, err := storage.Open(filepath.Join(t.TempDir(), "x.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if err := store.Apply(storage.Turn{}, []byte("entry")).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	reading, free := make(chan struct{}), make(chan struct{})
	go store.Entries(0, func(uint64, []byte) bool {
		close(reading)
		<-free
		return true
	})
	<-reading
	// Until this turn is committed nothing below it is asked for, so that the reader keeps only commits waiting.
	c := store.Apply(storage.Turn{Clear: true, Writes: []storage.Write{{Key: "big", Value: make([]byte, 60<<10)},
		{Key: "bigger", Value: noise(8 << 20)}}}, nil)
	time.Sleep(100 * time.Millisecond)
	select {
	case <-c.Done():
		t.Fatal("the commit does not wait")
	default:
	}
	var once atomic.Bool
	let = func() {
		if once.CompareAndSwap(false, true) {
			close(free)
		}
	}
	t.Cleanup(let)
	return store, let
}

func noise(n int) []byte {
	b := make([]byte, n)
	for k := range b {
		b[k] = byte(k*k>>7 ^ k>>11)
	}
	return b
}

func packWrites(n int) wire.Frame {
	p := wire.Pack(wire.Turn, 1).Uint(0).Bool(false).Uint(0).Uint(uint64(n))
	for k := range n {
		p.Text(fmt.Sprint("k", k)).Bool(false).Text("")
	}
	return wire.Frame{Kind: wire.Turn, Inst: 1, Body: p.Uint(0).Done()[wire.Head:]}
}

func line(text string) wire.Frame {
	return wire.Frame{Kind: wire.Log, Inst: 1, Body: wire.Pack(wire.Log, 1).Text("info").Text(text).Uint(0).Done()[wire.Head:]}
}

func ended(t *testing.T, i *Instance) {
	t.Helper()
	select {
	case <-i.ended:
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on")
	}
}

// A gadget may write so many keys in one turn, hears which bound it passed, and lives on.
func TestMostWritesOfATurn(t *testing.T) {
	s := short(`export class Gadget { constructor(x) { this.h = x.host }
		put(n) { for (let i = 0; i < n; i++) this.h.put("k" + i, "") }
		again(n) { for (let i = 0; i < n; i++) this.h.put("k", String(i)) }
		ping() { return 1 } }`, 20*time.Second, 21*time.Second)
	r, err := startRaw(t, startChild(t, fakeConfig()), s)
	if err != nil {
		t.Fatal(err)
	}
	r.want("put", wire.MaxWrites, "undefined")
	r.want("again", wire.MaxWrites+10, "undefined")
	if _, err := r.call("put", wire.MaxWrites+1); err == nil || !strings.Contains(err.Error(), "at most 50000 keys") {
		t.Fatal(err)
	}
	r.want("ping", nil, "1")
}

// A child's counts are not believed, and what it sends is bounded before it is unpacked.
func TestCountsAreNotBelieved(t *testing.T) {
	turn := func(writes, messages int, rest []byte) []byte {
		p := wire.Pack(wire.Turn, 1).Bool(false).Uint(0).Uint(uint64(writes))
		for range writes {
			p.Text("a").Bool(false).Text("")
		}
		return append(p.Uint(uint64(messages)).B[wire.Head:], rest...)
	}
	large := wire.Pack(0, 0)
	for range 3 {
		large.Bytes(make([]byte, wire.MaxTurn/3+10))
	}
	for name, body := range map[string][]byte{
		"writes":         turn(wire.MaxWrites+1, 0, nil),
		"messages":       turn(0, wire.MaxMessages+1, make([]byte, wire.MaxMessages+1)),
		"empty messages": turn(0, 4<<20, make([]byte, 4<<20)),
		"missing":        turn(0, 100, make([]byte, 99)),
		"too large":      turn(0, 3, large.B[wire.Head:]),
		"trailing":       turn(1, 1, []byte{0, 0}),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, ok := unpackTurn(&wire.Unpacker{B: body})
		runtime.ReadMemStats(&after)
		if ok {
			t.Errorf("%s: taken", name)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20+uint64(len(body)) {
			t.Errorf("%s: %d bytes were allocated for %d", name, took, len(body))
		}
	}
	if _, r, ok := unpackTurn(&wire.Unpacker{B: turn(wire.MaxWrites, wire.MaxMessages, make([]byte, wire.MaxMessages))}); !ok || r.writtenN != wire.MaxWrites {
		t.Error("the largest honest turn is refused")
	}
}

// A small message does not keep the frame that it came in; a large one is not copied.
func TestSmallMessagesAreCopied(t *testing.T) {
	body := wire.Pack(wire.Turn, 1).Bool(false).Uint(0).Uint(0).Uint(2).Text("small").Bytes(make([]byte, 1000)).Done()[wire.Head:]
	_, r, ok := unpackTurn(&wire.Unpacker{B: body})
	for k := range body {
		body[k] = 'x'
	}
	if !ok || string(r.messages[0]) != "small" || r.messages[1][0] != 'x' {
		t.Fatalf("%q %q", r.messages[0], r.messages[1][:1])
	}
}

// What the child says without having been asked ends it.
func TestUnaskedFrames(t *testing.T) {
	c := &Child{reports: make(chan []Attempt, 1)}
	pong := func(nonce uint64) error {
		return c.take(wire.Frame{Kind: wire.Pong, Body: wire.Pack(0, 0).Uint(nonce).Done()[wire.Head:]})
	}
	report := func(n int) error {
		return c.take(wire.Frame{Kind: wire.Report, Body: wire.PackAttempts(make([]Attempt, n))[wire.Head:]})
	}
	if pong(0) == nil {
		t.Error("a pong without a ping is taken")
	}
	c.pinged, c.nonce = time.Now(), 7
	if pong(8) == nil || pong(7) != nil || pong(7) == nil {
		t.Error("a pong must have its ping's number, once")
	}
	if report(1) == nil {
		t.Error("a report without a probe is taken")
	}
	c.probes = 1
	if report(3) != nil || len(<-c.reports) != 3 || report(3) == nil {
		t.Error("a probe has one report")
	}
	c.probes = 1
	if report(wire.MaxAttempts+1) == nil {
		t.Error("a report of any length is taken")
	}
	c.probes = 1
	if c.take(wire.Frame{Kind: wire.Report, Body: wire.Pack(0, 0).Uint(1).Text("").Bool(true).Bytes(make([]byte, wire.MaxReport)).B[wire.Head:]}) == nil {
		t.Error("a report of any size is taken")
	}
}

// The same over the socket: the watch sends the number that it wants back, and the child answers with it.
func TestPingsGoOn(t *testing.T) {
	child := startChild(t, fakeConfig())
	r := mustStart(t, child, `export class Gadget { ping() { return 1 } }`)
	for range 3 {
		r.want("ping", nil, "1")
		time.Sleep(pingEvery + pingEvery/4)
	}
	child.mu.Lock()
	nonce, waiting := child.nonce, !child.pinged.IsZero()
	child.mu.Unlock()
	if nonce == 0 || waiting || child.Err() != nil {
		t.Fatal(nonce, waiting, child.Err())
	}
}

// A child that asks and does not read the answers is cut off at its second answer, not at the kernel's last byte.
func TestOneAskAtATime(t *testing.T) {
	r, w := io.Pipe() // nobody reads
	defer r.Close()
	c := &Child{out: wire.NewOutbox(w), instances: map[uint32]*Instance{}}
	defer c.out.Close()
	s := spec("")
	s.Storage.Apply(storage.Turn{Writes: []storage.Write{{Key: "k", Value: make([]byte, 100_000)}}}, nil)
	i := c.newInstance(s)
	go i.run()
	defer i.Close()
	ask := wire.Frame{Kind: wire.Ask, Inst: 1, Body: wire.Pack(0, 0).Uint(wire.AskGet).Text("k").Done()[wire.Head:]}
	n := 0
	for ; i.Err() == nil && n < 1000; n++ {
		i.take(ask)
		time.Sleep(time.Millisecond)
	}
	if kind(i.Err()) != KindProtocol || n > 10 {
		t.Fatal(n, i.Err())
	}
}

// Writes that wait for their commits are bounded.
func TestUnsavedWritesAreBounded(t *testing.T) {
	store, _ := heldStore(t)
	s := spec("")
	s.Storage = store
	i := alone(t, s)
	f, n := packWrites(wire.MaxWrites), 0
	for ; i.Err() == nil && n < 20; n++ {
		i.take(f)
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && i.Err() == nil; time.Sleep(time.Millisecond) {
			i.mu.Lock()
			dealt := !i.dealing && len(i.frames) == 0
			i.mu.Unlock()
			if dealt {
				break
			}
		}
	}
	if kind(i.Err()) != KindProtocol || n != maxUnsaved/wire.MaxWrites+1 {
		t.Fatal(n, i.Err())
	}
}

// Closing does not wait for a backlog that nobody was told of.
func TestCloseDropsTheBacklog(t *testing.T) {
	store, let := heldStore(t)
	s := spec("")
	s.Storage = store
	i := alone(t, s)
	i.take(packWrites(10))
	for len(i.Waiting()) == 0 {
		time.Sleep(time.Millisecond)
	}
	closed := make(chan struct{})
	go func() { i.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		let()
		t.Fatal("it waits for the whole backlog")
	}
	let()
	if err := store.Apply(storage.Turn{}, nil).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, found, err := store.Get("k1"); found || err != nil {
		t.Fatal("a dropped turn was kept", err)
	}
	if _, found, err := store.Get("big"); !found || err != nil {
		t.Fatal("a turn before it was dropped", err)
	}
}

// Waiting returns the turns in the queue.
func (i *Instance) Waiting() []release {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.waiting
}

// A line leaves with its turn: after the commit.
func TestLinesWaitForTheCommit(t *testing.T) {
	store, let := heldStore(t)
	s := spec("")
	s.Storage = store
	said := make(chan string, 10)
	s.Console = func(l Line) { said <- l.Text }
	i := alone(t, s)
	i.take(line("one"))
	i.take(packWrites(1))
	i.take(line("two"))
	i.take(wire.Frame{Kind: wire.Turn, Inst: 1, Body: wire.Pack(0, 0).Uint(0).Bool(false).Uint(0).Uint(0).Uint(0).Done()[wire.Head:]})
	select {
	case l := <-said:
		t.Fatalf("%q was said before its turn was saved", l)
	case <-time.After(50 * time.Millisecond):
	}
	let()
	for _, want := range []string{"one", "two"} {
		if got := <-said; got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}

// The lines of a turn that is lost come, but when the failure is known.
func TestLinesOfALostTurn(t *testing.T) {
	failed := wire.Pack(0, 0).Text(KindMemory).Text("full").Done()[wire.Head:]
	for name, end := range map[string]func(*Instance){
		"failed": func(i *Instance) { i.take(wire.Frame{Kind: wire.Failed, Inst: 1, Body: failed}) },
		"child":  func(i *Instance) { i.end(wire.Fail(KindChild, "gone")) },
		"commit": func(i *Instance) {
			i.spec.Storage.(*storage.Store).Close()
			i.take(packWrites(1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var i *Instance
			var lines []string
			var early bool
			s := spec("")
			s.Console = func(l Line) { lines, early = append(lines, l.Text), early || i.Err() == nil }
			c := &Child{out: wire.NewOutbox(io.Discard), instances: map[uint32]*Instance{}}
			defer c.out.Close()
			i = c.newInstance(s)
			go i.run()
			for k := range 5 {
				i.take(line(fmt.Sprint(k)))
			}
			end(i)
			ended(t, i)
			<-i.Done()
			if got := strings.Join(lines, ""); got != "01234" || early {
				t.Fatalf("%q, before the failure: %v", got, early)
			}
		})
	}
}

// A turn that only says something on the console ends too, and so does one that fails.
func TestLinesOfQuietTurns(t *testing.T) {
	r, err := startRaw(t, startChild(t, fakeConfig()), short(`export class Gadget {
		constructor(x) { this.h = x.host; console.log("made") }
		later(n) { this.h.wake(Date.now()); this.h.log("info", "quiet " + n); return n }
		lost() { this.h.put("k", "v"); this.h.log("info", "lost"); this.h.fail("broken") } }`, time.Second, 2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	want := func(text string) {
		t.Helper()
		select {
		case l := <-r.line:
			if l.Text != text {
				t.Fatalf("%q, want %q", l.Text, text)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%q does not come", text)
		}
	}
	want("made")
	for n := range 3 {
		r.want("later", n, fmt.Sprint(n))
		want(fmt.Sprint("quiet ", n))
	}
	if _, err := r.call("lost", nil); kind(err) != KindProtocol {
		t.Fatal(err)
	}
	want("lost")
}

// Lines that wait for their turn are bounded, and those beyond are counted.
func TestWaitingLinesAreBounded(t *testing.T) {
	i := alone(t, func() Spec { s := spec(""); s.Console = func(Line) {}; return s }())
	for range maxLines + 500 {
		i.gate = wire.LineGate{Dropped: i.gate.Dropped} // as if time had passed
		i.log(&wire.Unpacker{B: line("x").Body})
	}
	if len(i.takeLines()) != maxLines || i.gate.Dropped != 500 {
		t.Fatal(i.linesN, i.gate.Dropped)
	}
}

// A list beyond the bound is refused with what to do about it, from below and from the turn's own writes; in parts it
// can be read.
func TestListIsBounded(t *testing.T) {
	s := spec(`export class Gadget { constructor(x) { this.h = x.host }
		list(o) { return JSON.parse(this.h.list(JSON.stringify(o))).length }
		own(n) { for (let i = 0; i < n; i++) this.h.put("own" + i, "x".repeat(1e6)); return this.list({ prefix: "own" }) }
		raw() { return this.h.list(JSON.stringify({ prefix: "<" })) } }`)
	turn := storage.Turn{Writes: []storage.Write{{Key: "<&>", Value: []byte("<\u2028&")}}}
	for k := range 10 {
		turn.Writes = append(turn.Writes, storage.Write{Key: fmt.Sprint("k", k), Value: bytes.Repeat([]byte("x"), 1<<20)})
	}
	s.Storage.Apply(turn, nil)
	r, err := startRaw(t, startChild(t, fakeConfig()), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct {
		method string
		arg    any
	}{{"list", struct{}{}}, {"own", 9}} {
		if _, err := r.call(m.method, m.arg); err == nil || kind(err) != "" || !strings.Contains(err.Error(), "limit, prefix") {
			t.Fatal(m, err)
		}
	}
	r.want("list", map[string]any{"prefix": "k", "limit": 5}, "5")
	if got, err := r.call("raw", nil); err != nil || strings.Contains(got, "003c") || !strings.Contains(got, "<&>") {
		t.Fatal(got, err)
	}
}

// What the kernel reads for a list counts as run time, and waiting ends some time: a turn that only asks is ended too.
func TestTurnThatKeepsAsking(t *testing.T) {
	for _, name := range []string{"waiting", "working"} {
		t.Run(name, func(t *testing.T) {
			s := short(`export class Gadget { constructor(x) { this.h = x.host }
				hog() { for (;;) try { this.h.list("{}") } catch {} }
				ping() { return 1 } }`, 100*time.Millisecond, 400*time.Millisecond)
			store := &countedStore{Store: storage.OpenMemory(), wait: 5 * time.Millisecond}
			turn := storage.Turn{}
			for k := range 9 {
				turn.Writes = append(turn.Writes, storage.Write{Key: fmt.Sprint("k", k), Value: make([]byte, 1<<20)})
			}
			if name == "working" {
				store.Apply(turn, nil)
			}
			s.Storage = store
			r, err := startRaw(t, startChild(t, fakeConfig()), s)
			if err != nil {
				t.Fatal(err)
			}
			// It is interrupted and lives, or on a busy machine passes the hard deadline before the engine asks.
			switch _, err := r.call("hog", nil); {
			case err != nil && strings.Contains(err.Error(), "interrupted"):
				r.want("ping", nil, "1")
			case kind(err) != KindCPU:
				t.Fatal(err)
			}
			// At 5 ms each: waiting ends after 1300 ms, but 8 MiB count more than 5 ms, so that working ends after 100.
			most := map[string]int64{"waiting": 280, "working": 100}[name]
			if n := store.asked.Load(); n > most {
				t.Fatalf("asked %d times, more than %d", n, most)
			}
			if n := store.most.Load(); n != wire.MaxList {
				t.Fatalf("the store may read %d bytes", n)
			}
		})
	}
}

type countedStore struct {
	*storage.Store
	wait  time.Duration
	asked atomic.Int64
	most  atomic.Int64
}

func (s *countedStore) List(o storage.ListOptions) ([]storage.Entry, error) {
	s.asked.Add(1)
	s.most.Store(o.MaxBytes)
	time.Sleep(s.wait)
	return s.Store.List(o)
}

// A session with a guest is bounded more tightly than one with the page.
func TestSessionBounds(t *testing.T) {
	child := startChild(t, realConfig())
	s := spec(`import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject {
	many(n) { return Array.from({ length: n }, () => () => 1) } }`)
	i := startReal(t, child, s)
	if v, err := await(t, i.Main().Call(t.Context(), "many", 100)); err != nil || len(v.([]any)) != 100 {
		t.Fatal(err)
	}
	if _, err := await(t, i.Main().Call(t.Context(), "many", 1<<12+1)); err == nil {
		t.Fatal("a guest may lend any number of functions")
	}
	ended(t, i)
}
