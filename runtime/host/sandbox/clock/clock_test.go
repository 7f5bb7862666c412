package clock

import (
	"testing"
	"time"
)

// Waiting for the kernel moves the deadlines, its work does not, and only so much waiting in one turn.
func TestWaitingIsGivenBack(t *testing.T) {
	start := time.Now()
	c := Clock{soft: start, hard: start, patience: 10 * time.Millisecond}
	for _, step := range []struct{ waited, cost, moved time.Duration }{{5, 2, 3}, {1, 2, 3}, {4, 0, 7}, {9, 1, 10}, {9, 1, 10}} {
		c.Waited(step.waited*time.Millisecond, step.cost*time.Millisecond)
		if got := c.soft.Sub(start); got != step.moved*time.Millisecond || c.hard != c.soft {
			t.Fatalf("%+v: %v", step, got)
		}
	}
}
