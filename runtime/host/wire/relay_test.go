package wire

import "testing"

// A reader that is kept too long is told that another has taken its place, once.
func TestRelay(t *testing.T) {
	started := make(chan struct{}, 2)
	r := NewRelay(func() { started <- struct{}{} })
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
