// Package clock counts the time that a guest itself runs in one turn.
package clock

import (
	"fmt"
	"time"
)

// Brief is how long a turn may keep the goroutine that reads the link.
const Brief = 500 * time.Microsecond

// patience is how many times its hard deadline a turn may wait for the kernel; with the time that it runs, a turn that
// keeps asking lasts four times its hard deadline at most.
const patience = 3

// Clock is the clock of one turn. The zero Clock does not run. Waiting moves both deadlines.
type Clock struct {
	Interrupted bool // the soft deadline has struck

	soft, hard time.Time
	brief      time.Time
	limit      time.Duration // what a turn may run; the deadlines move, this does not
	patience   time.Duration // what a turn may still wait for the kernel with the clock standing still
}

// Begin starts the clock of a turn that is interrupted after soft and ended after hard.
func Begin(soft, hard time.Duration) Clock {
	now := time.Now()
	return Clock{soft: now.Add(soft), hard: now.Add(hard), brief: now.Add(Brief), limit: min(soft, hard), patience: patience * hard}
}

// Running tells whether there is a turn.
func (c *Clock) Running() bool { return !c.hard.IsZero() }

// Struck tells whether the turn is to be interrupted.
func (c *Clock) Struck(now time.Time) bool { return !c.soft.IsZero() && now.After(c.soft) }

// Over tells whether the turn is to be ended.
func (c *Clock) Over(now time.Time) bool { return now.After(c.hard) }

// Lasts tells whether the turn is longer than Brief.
func (c *Clock) Lasts(now time.Time) bool { return now.After(c.brief) }

// Grant gives an interrupted turn some more time.
func (c *Clock) Grant(d time.Duration) { c.soft, c.Interrupted = time.Now().Add(d), false }

// TooLong says that a turn passed its limit, and names the limit.
func (c *Clock) TooLong() string {
	return fmt.Sprintf("it used more than the %v of CPU time that one turn may use", c.limit)
}

// Waited gives back time that the guest waited for the kernel, but not what the kernel did for it meanwhile, and only
// so much of it in one turn.
func (c *Clock) Waited(d, cost time.Duration) {
	d = min(max(0, d-cost), c.patience)
	c.patience -= d
	c.Pause(d)
}

// Pause gives back time that the guest did not run.
func (c *Clock) Pause(d time.Duration) {
	c.soft, c.hard = c.soft.Add(d), c.hard.Add(d)
}
