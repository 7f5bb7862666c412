package inbox

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"toolshed/runtime/host/wire"
)

// wait runs Wait on a goroutine of its own and returns what it will give, once the owner does nothing.
func wait(b *Inbox) <-chan bool {
	out := make(chan bool, 1)
	go func() { out <- b.Wait(time.Time{}) }()
	for idle := false; !idle; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		idle = b.waiting
		b.mu.Unlock()
	}
	return out
}

func still(t *testing.T, waiting <-chan bool) {
	t.Helper()
	select {
	case <-waiting:
		t.Fatal("the owner was woken")
	case <-time.After(20 * time.Millisecond):
	}
}

func TestOnlyAnOwnerWithNothingToDoLends(t *testing.T) {
	busy := New()
	if busy.Borrow() {
		t.Error("lent by an owner that does not wait")
	}
	for name, prepare := range map[string]func(*Inbox){
		"a message waits":            func(b *Inbox) { b.messages = append(b.messages, nil) },
		"the kernel asks for quiet":  func(b *Inbox) { b.quiet = 1 },
		"the kernel is behind":       func(b *Inbox) { b.Told(wire.MaxUnacked) },
		"too many turns are unacked": func(b *Inbox) { b.turns = wire.MaxUnackedN },
		"it is lent":                 func(b *Inbox) { b.Borrow() },
		"it is stopping":             func(b *Inbox) { b.stopping = true },
	} {
		b := New()
		wait(b)
		prepare(b)
		if b.Borrow() {
			t.Errorf("lent although %s", name)
		}
	}
}

// What comes while an instance is lent waits, and the owner goes on only when it is back.
func TestTheOwnerWaitsForWhatItLent(t *testing.T) {
	for name, come := range map[string]func(*Inbox){
		"message": func(b *Inbox) { b.Push([]byte("late")) },
		"quiet":   func(b *Inbox) { b.Ask(7) },
		"stop":    func(b *Inbox) { b.Stop() },
	} {
		b := New()
		waiting := wait(b)
		if !b.Borrow() {
			t.Fatal("not lent")
		}
		come(b)
		still(t, waiting)
		b.Return(false)
		if going := <-waiting; going != (name != "stop") {
			t.Errorf("%s: %v", name, going)
		}
		todo := b.Take()
		if got := string(todo.Message); (got == "late") != (name == "message") || (todo.Quiet == 7) != (name == "quiet") {
			t.Errorf("%s: %+v", name, todo)
		}
		if want := uint64(1); name != "message" && todo.Taken != want {
			t.Errorf("%s: %d taken", name, todo.Taken)
		}
	}
	b := New()
	waiting := wait(b)
	b.Borrow()
	b.Return(false)
	still(t, waiting)
	b.Borrow()
	b.Return(true)
	if b.Borrow() { // whether or not the owner has heard yet
		t.Error("lent although the owner has something to do")
	}
	<-waiting
}

// Messages are dealt with in order and one at a time, by whichever of the two.
func TestOwnerAndBorrowerTakeTurns(t *testing.T) {
	const count = 20_000
	b := New()
	var inside atomic.Int32
	var lent, next int
	deal := func(n int) {
		if inside.Add(1) != 1 {
			t.Error("two at a time")
		}
		if n != next {
			t.Errorf("message %d came as number %d", n, next)
		}
		next++
		inside.Add(-1)
	}
	var owner sync.WaitGroup
	owner.Go(func() {
		for next < count {
			if todo := b.Take(); todo.Message != nil {
				deal(int(todo.Message[0]) | int(todo.Message[1])<<8)
			} else if !b.Wait(time.Time{}) {
				return
			}
		}
	})
	random := rand.New(rand.NewPCG(1, 2))
	for n := range count {
		if b.Borrow() {
			lent++
			deal(n)
			b.Return(next == count)
		} else {
			b.Push([]byte{byte(n), byte(n >> 8)})
		}
		if random.IntN(100) == 0 {
			time.Sleep(50 * time.Microsecond)
		}
	}
	owner.Wait()
	if next != count || lent == 0 || lent == count {
		t.Errorf("%d of %d, %d of them lent", next, count, lent)
	}
}
