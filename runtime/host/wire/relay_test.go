package wire

import (
	"testing"
	"time"
)

// A reader that is kept too long is told that another has taken its place, once.
func TestRelay(t *testing.T) {
	started := make(chan struct{}, 2)
	r := NewRelay(func() { started <- struct{}{} }, 0)
	if r.GiveAway(r.Doing()) {
		t.Error("given away by nobody")
	}
	if !r.Do(func() {}) {
		t.Error("a short turn lost the link")
	}
	stale := uint64(0)
	if !r.Do(func() { stale = r.Doing() }) || r.GiveAway(stale) {
		t.Error("a turn that is over gave the link away")
	}
	if r.Do(func() {
		if !r.GiveAway(r.Doing()) || r.GiveAway(r.Doing()) {
			t.Error("given away not once")
		}
	}) {
		t.Error("both read")
	}
	<-started
	if len(started) != 0 {
		t.Error("two new readers")
	}
}

// With patience a turn that never ends loses the link by itself, again and again, also after a time without turns.
func TestARelayLosesPatience(t *testing.T) {
	started := make(chan struct{})
	r := NewRelay(func() { started <- struct{}{} }, time.Millisecond)
	for range 3 {
		for range 1000 {
			if !r.Do(func() {}) { // a busy machine may let even this one last
				<-started
			}
		}
		if r.Do(func() { <-started }) {
			t.Fatal("a turn that waits for the next reader kept the link")
		}
		for deadline := time.Now().Add(10 * time.Second); r.watching.Load(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("it looks for ever although nothing happens")
			}
		}
	}
}
