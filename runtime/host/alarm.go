package host

import (
	"context"
	"fmt"
	"sync"
	"time"

	"toolshed/runtime/host/wire"
	"toolshed/runtime/storage"
)

// An alarm whose handler fails is given again after a delay that begins with retryDelay and doubles, AlarmRetries times.
const (
	AlarmRetries = 6
	retryDelay   = 2 * time.Second
)

// AlarmLimit is the longest that a handler may take, waiting included.
const AlarmLimit = 15 * time.Minute

// AlarmMethod is the method that is called. Nobody else may call it.
const AlarmMethod = "alarm"

// ringing is the alarm that is being given, if one is.
type ringing struct {
	mu      sync.Mutex // held while an alarm is applied, so that the end of the handler knows what it has set
	on      bool
	touched bool // the gadget has set or removed its alarm since
}

// apply applies a turn of the guest.
func (i *Instance) apply(t storage.Turn) *storage.Commit {
	if t.Alarm == nil {
		return i.spec.Storage.Apply(t, nil)
	}
	i.ringing.mu.Lock()
	defer i.ringing.mu.Unlock()
	i.ringing.touched = true
	return i.spec.Storage.Apply(t, nil)
}

// visibleAlarm is the time of the alarm as the gadget sees it: one that is being given is gone.
func (i *Instance) visibleAlarm() (int64, error) {
	i.ringing.mu.Lock()
	defer i.ringing.mu.Unlock()
	if i.ringing.on && !i.ringing.touched {
		return 0, nil
	}
	a, err := i.spec.Storage.Alarm()
	return a.Time, err
}

// Alarm gives the gadget its alarm if one is due now, and returns when the handler has ended: an ordinary call of the
// method alarm, with the same limits and gates. It reports whether there was one. One call at a time.
//
// Before the handler runs, its retry is stored; the gadget does not see it. So the alarm is given at least once whatever
// happens: a program that is killed in the middle gives it again. When the handler has succeeded and has not set another
// alarm, the stored one is removed, together with nothing else: what the handler wrote is durable before. A handler
// that fails is called again, unless it has set another alarm, which stands; after AlarmRetries retries the gadget's
// console says that the alarm is given up. (workerd: likewise, except that it does not count a failure of its own.)
//
// The error is of the storage, or says that the instance has ended; what the handler throws is on the console.
func (i *Instance) Alarm(ctx context.Context, now time.Time) (given bool, err error) {
	a, err := i.spec.Storage.Alarm()
	if err != nil || !AlarmDue(a, now) {
		return false, err
	}
	if err := i.beginAlarm(ctx, a, now); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, AlarmLimit)
	defer cancel()
	info := map[string]any{"scheduledTime": float64(a.Time), "retryCount": float64(a.Retry), "isRetry": a.Retry > 0}
	_, thrown := i.Main().Call(ctx, AlarmMethod, info).Await(ctx)
	return true, i.endAlarm(a, thrown)
}

// AlarmDue reports whether an alarm is to be given now. The delay of a retry is no longer than it was meant to be when
// the clock was put back since.
func AlarmDue(a storage.Alarm, now time.Time) bool {
	if a == (storage.Alarm{}) {
		return false
	}
	return now.UnixMilli() >= a.Due || a.Retry > 0 && a.Due-now.UnixMilli() > delay(a.Retry).Milliseconds()
}

// delay is the time before a retry; the first has the number 1.
func delay(retry int) time.Duration { return retryDelay << (min(retry, AlarmRetries) - 1) }

func retryOf(a storage.Alarm, now time.Time) *storage.Alarm {
	n := a.Retry + 1
	return &storage.Alarm{Time: a.Time, Due: now.Add(delay(n)).UnixMilli(), Retry: n}
}

// beginAlarm stores the retry of an alarm, or its removal before the last time it is given.
func (i *Instance) beginAlarm(ctx context.Context, a storage.Alarm, now time.Time) error {
	next := retryOf(a, now)
	if a.Retry >= AlarmRetries {
		next = &storage.Alarm{}
	}
	r := &i.ringing
	r.mu.Lock()
	if current, err := i.spec.Storage.Alarm(); err != nil || current != a { // the gadget was faster
		r.mu.Unlock()
		return err
	}
	r.on, r.touched = true, false
	commit := i.spec.Storage.Apply(storage.Turn{Alarm: next}, nil)
	r.mu.Unlock()
	if err := commit.Wait(ctx); err != nil {
		return fmt.Errorf("host: begin an alarm: %w", err)
	}
	return nil
}

// report adds a line of the host's own to the console.
func (i *Instance) report(text string) {
	if i.spec.Console == nil {
		return
	}
	i.telling.Lock()
	defer i.telling.Unlock()
	i.spec.Console(Line{Level: "error", Text: text, Time: time.Now()})
}

// endAlarm stores what becomes of an alarm after its handler has ended.
func (i *Instance) endAlarm(a storage.Alarm, thrown error) error {
	r := &i.ringing
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on = false
	switch {
	case r.touched:
		return nil
	case thrown == nil:
		i.spec.Storage.Apply(storage.Turn{Alarm: &storage.Alarm{}}, nil)
		return nil
	case a.Retry >= AlarmRetries:
		i.report(fmt.Sprintf("alarm() has failed %d times and is given up: %s", a.Retry+1, wire.Clip(thrown.Error(), 1000)))
		return nil
	}
	if i.failure() == nil { // the delay begins with the failure
		i.spec.Storage.Apply(storage.Turn{Alarm: retryOf(a, time.Now())}, nil)
	}
	return i.Err()
}
