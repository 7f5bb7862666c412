package overseer

import (
	"context"
	"errors"
	"sync"
	"time"

	"toolshed/app/store"
	"toolshed/runtime/host"
	"toolshed/runtime/storage"
)

// alarmRecord is an entry of the index of alarms, under the gadget's id: the earliest time at which the gadget's alarm may
// be due, in milliseconds since 1970. It is written before the gadget's file is, so it may be too early and is never
// missing. What the gadget's file says decides.
type alarmRecord struct {
	Due int64 `json:"due"`
}

var alarmRecords = store.NewCollection[alarmRecord]("alarms")

const (
	alarmStarts  = 8                // gadgets of one kernel that are being woken at a time
	slowAlarm    = 20 * time.Second // a handler that takes longer no longer keeps others waiting
	alarmLook    = 30 * time.Second // the clock is looked at this often, because it may jump
	firstBackoff = time.Minute      // after a gadget could not be woken; doubles
	lastBackoff  = time.Hour
)

// alarms wakes the gadgets of one workspace when their alarms are due, also those that were due while the program did not
// run. Times are those of the wall clock, read anew at each look. A gadget that cannot be woken is tried again after a
// while that grows, or when it has been started otherwise.
type alarms struct {
	workspace *overseer
	ctx       context.Context
	cancel    context.CancelFunc
	changed   chan struct{}
	running   sync.WaitGroup

	index sync.Mutex // held while the index is written, so that entries are replaced in order
	mu    sync.Mutex
	due   map[string]int64
	busy  map[string]bool
	retry map[string]backoff
}

// backoff says when a gadget that could not be woken is tried again.
type backoff struct {
	after time.Duration
	at    time.Time
}

// openAlarms reads the index, drops the entries of gadgets that are gone, and begins to wake gadgets.
func (w *overseer) openAlarms() error {
	a := &alarms{workspace: w, changed: make(chan struct{}, 1), due: map[string]int64{}, busy: map[string]bool{}, retry: map[string]backoff{}}
	a.ctx, a.cancel = context.WithCancel(w.kernel.ctx)
	w.alarms = a
	var gone []string
	err := w.db.View(func(tx *store.Tx) error {
		return alarmRecords.Each(tx, func(id string, r alarmRecord) error {
			if w.gadgets[id] == nil {
				gone = append(gone, id)
				return nil
			}
			a.due[id] = r.Due
			return nil
		})
	})
	for _, id := range gone {
		if err == nil {
			err = a.forget(id)
		}
	}
	if err != nil {
		a.cancel()
		return err
	}
	a.running.Go(a.loop)
	return nil
}

// stop ends the waking; close waits for what is being woken, which ends with its gadget.
func (a *alarms) stop()  { a.cancel() }
func (a *alarms) close() { a.cancel(); a.running.Wait() }

// note puts an alarm into the index before it is durable. It is storage.Options.Alarm.
func (a *alarms) note(id string, due int64) error {
	a.index.Lock()
	defer a.index.Unlock()
	if now := a.entry(id); now != 0 && now <= due {
		return nil
	}
	return a.write(id, due)
}

// settle brings the entry of a gadget up to date with its open file, and lets it be woken again if it could not be.
func (a *alarms) settle(id string, data *storage.Store) {
	a.mu.Lock()
	delete(a.retry, id)
	a.mu.Unlock()
	a.index.Lock()
	defer a.index.Unlock()
	due, err := data.EarliestAlarm()
	if err == nil && due != a.entry(id) {
		err = a.write(id, due)
	}
	if err != nil && !errors.Is(err, storage.ErrClosed) {
		a.workspace.kernel.options.Log.Warn("keeping the index of alarms", "workspace", a.workspace.id, "error", err)
	}
	a.look()
}

// forget removes the entry of a gadget that is gone.
func (a *alarms) forget(id string) error {
	a.index.Lock()
	defer a.index.Unlock()
	return a.write(id, 0)
}

func (a *alarms) entry(id string) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.due[id]
}

// write replaces an entry; 0 removes it. The caller holds index.
func (a *alarms) write(id string, due int64) error {
	err := a.workspace.db.Update(func(tx *store.Tx) error {
		if due == 0 {
			return alarmRecords.Delete(tx, id)
		}
		return alarmRecords.Write(tx, id, alarmRecord{Due: due})
	})
	if err != nil {
		return err
	}
	a.mu.Lock()
	if due == 0 {
		delete(a.due, id)
		delete(a.retry, id)
	} else {
		a.due[id] = due
	}
	a.mu.Unlock()
	a.look()
	return nil
}

func (a *alarms) look() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// loop wakes what is due until the workspace is closed.
func (a *alarms) loop() {
	for {
		ready, wait := a.ready(time.Now())
		for _, id := range ready {
			select {
			case a.workspace.kernel.alarmSlots <- struct{}{}:
				a.running.Go(func() { a.ring(id) })
			case <-a.ctx.Done():
				return
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-a.changed:
			timer.Stop()
		case <-a.ctx.Done():
			timer.Stop()
			return
		}
	}
}

// ready marks the gadgets that are to be woken now as busy and returns them, and how long to wait for the next look.
func (a *alarms) ready(now time.Time) (ids []string, wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	wait = alarmLook
	for id, due := range a.due {
		if a.busy[id] {
			continue
		}
		left := max(time.UnixMilli(due).Sub(now.Round(0)), time.Until(a.retry[id].at))
		if left <= 0 {
			a.busy[id] = true
			ids = append(ids, id)
			continue
		}
		wait = min(wait, left+time.Millisecond)
	}
	return ids, wait
}

// ring wakes one gadget. It holds a slot of the kernel until the gadget's handler has ended, or is known to be slow.
func (a *alarms) ring(id string) {
	release := sync.OnceFunc(func() { <-a.workspace.kernel.alarmSlots })
	slow := time.AfterFunc(slowAlarm, release)
	defer release()
	defer slow.Stop()
	var err error
	if g, unknown := a.workspace.find(id); unknown != nil {
		err = a.forget(id)
	} else {
		err = g.ring(a.ctx)
	}
	a.mu.Lock()
	delete(a.busy, id)
	if err != nil {
		after := min(max(firstBackoff, 2*a.retry[id].after), lastBackoff)
		a.retry[id] = backoff{after, time.Now().Add(after)}
	}
	a.mu.Unlock()
	a.look()
}

// ring starts the gadget if it does not run and gives it its alarm if that is due. An error says that it could not be
// woken; what its handler throws is none.
func (g *gadget) ring(ctx context.Context) error {
	r, err := g.enter()
	if err != nil {
		return err
	}
	defer r.leave()
	select {
	case <-r.main.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	g.mu.Lock()
	instance, data := r.instance, r.data
	g.mu.Unlock()
	if instance == nil {
		return &host.Failure{Kind: host.KindStart, Message: "it could not be started for its alarm"}
	}
	_, err = instance.Alarm(ctx, time.Now())
	g.workspace.alarms.settle(g.id, data)
	if f := instance.Err(); f != nil { // it ran: the next time is in its file
		return nil
	}
	return err
}
