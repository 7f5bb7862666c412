package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

func TestFrames(t *testing.T) {
	var b bytes.Buffer
	b.Write(Pack(Turn, 7).Uint(1 << 40).Int(-5).Text("é").Bytes([]byte{0, 1}).Bool(true).Done())
	b.Write(Pack(Ping, 0).Done())
	b.Write(Pack(Deliver, 1).Bytes(make([]byte, 5<<20)).Done())
	whole := append([]byte(nil), b.Bytes()...)
	r := bufio.NewReader(&b)
	f, err := Read(r)
	if err != nil || f.Kind != Turn || f.Inst != 7 {
		t.Fatal(f, err)
	}
	u := &Unpacker{B: f.Body}
	if u.Uint() != 1<<40 || u.Int() != -5 || u.Text() != "é" || len(u.Bytes()) != 2 || !u.Bool() || u.Err != nil || len(u.B) != 0 {
		t.Fatal(u)
	}
	if f, err := Read(r); err != nil || f.Kind != Ping || len(f.Body) != 0 {
		t.Fatal(f, err)
	}
	if f, err := Read(r); err != nil || len(f.Body) < 5<<20 {
		t.Fatal(len(f.Body), err)
	}
	if _, err := Read(r); err != io.EOF {
		t.Fatal(err)
	}
	for _, n := range []int{1, 8, 9, 20, len(whole) - 1} {
		r := bufio.NewReader(bytes.NewReader(whole[:n]))
		var err error
		for err == nil {
			_, err = Read(r)
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			t.Fatal(n, err)
		}
	}
	for _, bad := range []string{"\x00\x00\x00\x00aaaaa", "\xff\xff\xff\xffaaaaa"} {
		if _, err := Read(bufio.NewReader(strings.NewReader(bad))); !errors.Is(err, ErrFrame) {
			t.Fatalf("%q: %v", bad, err)
		}
	}
}

func FuzzUnpacker(f *testing.F) {
	f.Add(Pack(Turn, 1).Uint(3).Text("a").Done()[Head:])
	f.Fuzz(func(t *testing.T, b []byte) {
		u := &Unpacker{B: b}
		if a, err := UnpackAttempts(b); err == nil && len(a) > MaxAttempts {
			t.Fatal(len(a))
		}
		for u.Err == nil && len(u.B) > 0 {
			u.Uint()
			u.Text()
			u.Int()
			UnpackList(u)
		}
	})
}

// A sender of Put never waits, one of PutSlow does, and everything arrives in order.
func TestOutbox(t *testing.T) {
	r, w := io.Pipe()
	o := NewOutbox(w)
	for k := range 1000 {
		o.Put(Pack(Log, uint32(k)).Done()) // nobody reads yet
	}
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for k := range 1000 {
			o.PutSlow(Pack(Log, uint32(1000+k)).Text(strings.Repeat("x", 1000)).Done(), 10_000)
		}
	}()
	in := bufio.NewReader(r)
	for k := range 2000 {
		f, err := Read(in)
		if err != nil || f.Inst != uint32(k) {
			t.Fatal(k, f.Inst, err)
		}
	}
	wg.Wait()
	o.Close()
	r.Close()
	o.PutSlow(make([]byte, 100_000), 10) // a closed outbox lets nobody wait
	o.PutSlow(make([]byte, 100_000), 10)
}

func TestLineGate(t *testing.T) {
	var g LineGate
	now := time.Unix(1, 0)
	passed := 0
	for range 1000 {
		if ok, _ := g.Admit(now); ok {
			passed++
		}
	}
	if passed != LineBurst || g.Dropped != 1000-LineBurst {
		t.Fatal(passed, g.Dropped)
	}
	if ok, dropped := g.Admit(now.Add(time.Second)); !ok || dropped != 1000-LineBurst {
		t.Fatal(ok, dropped)
	}
	if DroppedText(1) != "1 line dropped" || DroppedText(2) != "2 lines dropped" {
		t.Fatal(DroppedText(1), DroppedText(2))
	}
}

func TestClip(t *testing.T) {
	for in, want := range map[string]string{"abc": "abc", "abcdef": "abcd…", "abcé": "abc…", "\xffab": "\ufffdab", "éé": "éé", "ab😀": "ab…"} {
		got := Clip(in, 4)
		if got != want || !utf8.ValidString(got) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// What is being written counts as waiting, and a frame is told of before it leaves, not when it is queued.
func TestOutboxCounts(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	o := NewOutbox(w)
	defer o.Close()
	left := make(chan int, 3)
	total := 0
	for k := range 3 {
		total += 100_000
		if n := o.PutThen(Pack(Log, uint32(k)).Bytes(make([]byte, 100_000)).Done()[:100_000], func() { left <- k }); n != total {
			t.Fatal(n, total)
		}
	}
	if k := <-left; k != 0 {
		t.Fatal(k)
	}
	select {
	case k := <-left:
		t.Fatal(k, "left while the one before it is being written")
	case <-time.After(20 * time.Millisecond):
	}
	if _, err := io.ReadFull(r, make([]byte, 250_000)); err != nil {
		t.Fatal(err)
	}
	if n := o.Put(make([]byte, 10)); n != 100_010 {
		t.Fatal(n)
	}
}

// A count is believed only as far as the bytes after it reach.
func TestCountOf(t *testing.T) {
	for _, c := range []struct {
		n          uint64
		left       int
		size, most int
		ok         bool
	}{{3, 9, 3, 10, true}, {4, 9, 3, 10, false}, {3, 9, 3, 2, false}, {1 << 63, 9, 1, 10, false}, {0, 0, 3, 0, true}} {
		u := &Unpacker{B: append(Pack(0, 0).Uint(c.n).B[Head:], make([]byte, c.left)...)}
		if n := u.CountOf(c.size, c.most); (u.Err == nil) != c.ok || c.ok && n != int(c.n) {
			t.Errorf("%+v: %d %v", c, n, u.Err)
		}
	}
}

// A lazy frame leaves before the next one, in the same write, or by itself after a while.
func TestALazyFrameKeepsItsPlace(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	o := NewOutbox(w)
	defer o.Close()
	for n := range uint32(100) {
		o.PutLazy(Pack(Deliver, 2*n).Done())
		if n%10 != 0 {
			o.Put(Pack(Deliver, 2*n+1).Done())
		} else {
			o.PutSlow(Pack(Deliver, 2*n+1).Done(), 1000)
		}
	}
	o.PutLazy(Pack(Deliver, 200).Done())
	in := bufio.NewReader(r)
	for n := range uint32(201) {
		if f, err := Read(in); err != nil || f.Inst != n {
			t.Fatal(n, f.Inst, err)
		}
	}
}

// Flush writes lazy frames itself, together, and does nothing when others wait for their turn.
func TestFlushLetsLazyFramesLeave(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	o := NewOutbox(w)
	defer o.Close()
	o.Flush()
	for n := range uint32(3) {
		o.PutLazy(Pack(Deliver, n).Done())
	}
	o.Flush()
	o.mu.Lock()
	left := len(o.queue) + o.bytes
	o.mu.Unlock()
	if left != 0 {
		t.Error("frames wait after Flush")
	}
	b := make([]byte, 100)
	if n, err := r.Read(b); n != 3*Head || err != nil {
		t.Errorf("%d bytes of 3 frames came in one read, %v", n, err)
	}
}
