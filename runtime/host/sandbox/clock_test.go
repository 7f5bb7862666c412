package sandbox

import (
	"testing"
	"time"

	"toolshed/runtime/host/wire"
	"toolshed/runtime/storage"
)

// Waiting for the kernel moves the deadlines, its work does not, and only so much waiting in one turn.
func TestWaitingIsGivenBack(t *testing.T) {
	start := time.Now()
	c := turnClock{soft: start, hard: start, patience: 10 * time.Millisecond}
	for _, step := range []struct{ waited, cost, moved time.Duration }{{5, 2, 3}, {1, 2, 3}, {4, 0, 7}, {9, 1, 10}, {9, 1, 10}} {
		c.waited(step.waited*time.Millisecond, step.cost*time.Millisecond)
		if got := c.soft.Sub(start); got != step.moved*time.Millisecond || c.hard != c.soft {
			t.Fatalf("%+v: %v", step, got)
		}
	}
}

// Each write counts with what it costs to keep, so that many small ones are bounded too.
func TestWritesCountTheirCost(t *testing.T) {
	o := &overlay{}
	for _, key := range []string{"a", "b", "a"} {
		o.set(storage.Write{Key: key, Value: []byte("xyz")})
	}
	if want := 2 * (wire.WriteCost + 4); o.size != want {
		t.Fatal(o.size, want)
	}
	o.set(storage.Write{Key: "a", Delete: true})
	if want := 2*(wire.WriteCost+4) - 3; o.size != want {
		t.Fatal(o.size, want)
	}
}
