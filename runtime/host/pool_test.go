package host

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// eventually waits for something that must come.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

// counted is a pool whose starts of processes are counted.
func counted(t *testing.T, o PoolOptions) (*Pool, *atomic.Int32) {
	t.Helper()
	var starts atomic.Int32
	o.Config = fakeConfig()
	command := o.Command
	o.Command = func() (*exec.Cmd, error) {
		starts.Add(1)
		return command()
	}
	p := NewPool(o)
	t.Cleanup(p.Close)
	return p, &starts
}

func enter(t *testing.T, p *Pool, at Place) *Seat {
	t.Helper()
	s, err := p.Enter(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (p *Pool) spareNow() *Child {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spare
}

func TestOneChildForEachPlace(t *testing.T) {
	p, starts := counted(t, PoolOptions{NoSpare: true})
	places := []Place{{Workspace: "a"}, {Workspace: "a", Purpose: ForCode}, {Workspace: "b"},
		{"a", ForQuarantine, "x"}, {"a", ForQuarantine, "y"}}
	var mu sync.Mutex
	pids := map[Place]map[int]bool{}
	var all sync.WaitGroup
	for k := range 5 * len(places) {
		all.Go(func() {
			at := places[k%len(places)]
			s, err := p.Enter(t.Context(), at)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if pids[at] == nil {
				pids[at] = map[int]bool{}
			}
			pids[at][s.Child.PID()] = true
		})
	}
	all.Wait()
	seen := map[int]bool{}
	for at, of := range pids {
		if len(of) != 1 {
			t.Errorf("%v has the children %v", at, of)
		}
		for pid := range of {
			seen[pid] = true
		}
	}
	if len(seen) != len(places) || int(starts.Load()) != len(places) {
		t.Fatalf("%d children of %d starts for %d places", len(seen), starts.Load(), len(places))
	}
}

// The spare goes to the next place at once, and another takes its stead in the background.
func TestTheSpareIsHandedOut(t *testing.T) {
	p, starts := counted(t, PoolOptions{SpareWait: time.Millisecond})
	p.Warm()
	for k, name := range []string{"a", "b", "c"} {
		eventually(t, "there is no spare", func() bool { return p.spareNow() != nil })
		if n := int(starts.Load()); n != k+1 {
			t.Fatalf("%d starts before the place %s", n, name)
		}
		spare := p.spareNow()
		if s := enter(t, p, Place{Workspace: name}); s.Child != spare {
			t.Fatal("not the spare")
		}
	}
}

func TestNoSpareIsStartedWhereItIsOff(t *testing.T) {
	p, starts := counted(t, PoolOptions{NoSpare: true, SpareWait: time.Millisecond})
	p.Warm()
	enter(t, p, Place{Workspace: "a"})
	p.mu.Lock()
	warming := p.warming
	p.mu.Unlock()
	if warming || starts.Load() != 1 {
		t.Fatalf("%d starts", starts.Load())
	}
}

// A spare that died meanwhile is not handed out.
func TestADeadSpareIsNotHandedOut(t *testing.T) {
	p, _ := counted(t, PoolOptions{SpareWait: time.Millisecond})
	p.Warm()
	eventually(t, "there is no spare", func() bool { return p.spareNow() != nil })
	spare := p.spareNow()
	spare.kill()
	<-spare.Done()
	s := enter(t, p, Place{Workspace: "a"})
	if s.Child == spare || s.Child.Err() != nil {
		t.Fatal("the dead spare was handed out")
	}
}

func TestAnEmptyChildEnds(t *testing.T) {
	p, _ := counted(t, PoolOptions{NoSpare: true, Idle: 20 * time.Millisecond})
	at := Place{Workspace: "a"}
	first, second := enter(t, p, at), enter(t, p, at)
	first.Leave()
	first.Leave() // again counts once
	if second.Child.Err() != nil {
		t.Fatal("the child ended under somebody")
	}
	second.Leave()
	eventually(t, "the empty child goes on", func() bool { return second.Child.Err() != nil })
	<-second.Child.Done()
	if again := enter(t, p, at); again.Child == second.Child {
		t.Fatal("the ended child was handed out")
	}
}

// A child that died is replaced for whoever enters next, and those who were in it leave without harm.
func TestADeadChildIsReplaced(t *testing.T) {
	p, _ := counted(t, PoolOptions{NoSpare: true, Idle: time.Millisecond})
	at := Place{Workspace: "a"}
	old := enter(t, p, at)
	old.Child.kill()
	<-old.Child.Done()
	fresh := enter(t, p, at)
	if fresh.Child == old.Child {
		t.Fatal("the dead child was handed out")
	}
	old.Leave()
	if r := mustStart(t, fresh.Child, `export class Gadget { ping() { return 1 } }`); r.Err() == nil {
		r.want("ping", nil, "1")
	}
}

func TestChildrenAreBounded(t *testing.T) {
	p, _ := counted(t, PoolOptions{NoSpare: true, Max: 2})
	a, b := enter(t, p, Place{Workspace: "a"}), enter(t, p, Place{Workspace: "b"})
	if _, err := p.Enter(t.Context(), Place{Workspace: "c"}); !errors.Is(err, ErrTooManyChildren) {
		t.Fatal(err)
	}
	b.Leave() // an empty one makes room before its time
	enter(t, p, Place{Workspace: "c"})
	<-b.Child.Done()
	if a.Child.Err() != nil {
		t.Fatal("a child in use made room")
	}
}

// Whoever gives up waiting leaves nothing behind, and a child whose place is gone by then is ended.
func TestEnteringCanBeGivenUp(t *testing.T) {
	p, _ := counted(t, PoolOptions{NoSpare: true, Max: 1, Idle: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Enter(ctx, Place{Workspace: "a"}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	enter(t, p, Place{Workspace: "b"})
	p.Close()
}

// After Close no process is left: those in use, the spare, and one that is being started.
func TestClosingLeavesNoProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no /proc")
	}
	p, _ := counted(t, PoolOptions{SpareWait: time.Millisecond})
	a := enter(t, p, Place{Workspace: "a"})
	eventually(t, "there is no spare", func() bool { return p.spareNow() != nil })
	spare := p.spareNow()
	enter(t, p, Place{Workspace: "b"}) // takes the spare; another is on its way
	var waiting sync.WaitGroup
	for _, name := range []string{"c", "d"} {
		waiting.Go(func() { _, _ = p.Enter(context.Background(), Place{Workspace: name}) })
	}
	p.Close()
	waiting.Wait()
	for _, c := range []*Child{a.Child, spare} {
		select {
		case <-c.exited:
		default:
			t.Errorf("the process %d is still there", c.PID())
		}
	}
	if _, err := p.Enter(t.Context(), Place{Workspace: "a"}); !errors.Is(err, ErrPoolClosed) {
		t.Fatal(err)
	}
	p.Close()
}
