package storagetest

import (
	"errors"
	"testing"

	"toolshed/runtime/storage"
)

// testAlarm: an alarm is set, kept and taken away by turns, like a key, and is none.
func (s Suite) testAlarm(t *testing.T) {
	store := s.open(t)
	expectAlarm(t, store, storage.Alarm{}, 0)
	first, second := storage.Alarm{Time: 100, Due: 100}, storage.Alarm{Time: 50, Due: 200, Retry: 3}
	c := store.Apply(storage.Turn{Alarm: &first}, nil)
	expectAlarm(t, store, first, 100)
	wait(t, c)
	expectAlarm(t, store, first, 100)
	wait(t, store.Apply(storage.Turn{Clear: true, Writes: []storage.Write{{Key: "a", Value: []byte("1")}}}, nil))
	expectAlarm(t, store, first, 100)
	expectList(t, store, storage.ListOptions{}, "a")
	wait(t, store.Apply(storage.Turn{Alarm: &second}, nil))
	expectAlarm(t, store, second, 200)
	if got := store.Stats().Bytes; got != 2 {
		t.Errorf("with an alarm the store counts %d bytes, want 2", got)
	}
	if s.Reopen != nil {
		store = s.Reopen(t, store)
		t.Cleanup(func() { store.Close() })
		expectAlarm(t, store, second, 200)
	}
	wait(t, store.Apply(storage.Turn{Alarm: &storage.Alarm{}}, nil))
	expectAlarm(t, store, storage.Alarm{}, 0)
	store.Close()
	if _, err := store.Alarm(); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("the alarm of a closed store: %v", err)
	}
	if _, err := store.EarliestAlarm(); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("the earliest alarm of a closed store: %v", err)
	}
}

// testAnnounced: whoever keeps an index hears of an alarm before it is durable. What is pending may still be lost, so the
// earliest alarm is the earliest of all that may come true. A turn that is dropped takes its alarm along.
func (s Suite) testAnnounced(t *testing.T) {
	announced, proceed := make(chan int64), make(chan error)
	store := s.Open(t, &storage.Options{Alarm: func(due int64) error {
		announced <- due
		return <-proceed
	}})
	defer store.Close()
	set := func(due int64) *storage.Commit {
		return store.Apply(storage.Turn{Alarm: &storage.Alarm{Time: due, Due: due}}, nil)
	}
	first := set(100)
	if due := <-announced; due != 100 {
		t.Errorf("announced %d, want 100", due)
	}
	if isDone(first) {
		t.Error("the alarm was durable before it was announced")
	}
	set(300)
	removed := store.Apply(storage.Turn{Alarm: &storage.Alarm{}}, nil)
	expectAlarm(t, store, storage.Alarm{}, 100)
	removed.Drop()
	expectAlarm(t, store, storage.Alarm{Time: 300, Due: 300}, 100)
	proceed <- nil
	wait(t, first)
	if due := <-announced; due != 300 {
		t.Errorf("announced %d, want 300", due)
	}
	expectAlarm(t, store, storage.Alarm{Time: 300, Due: 300}, 100)
	proceed <- nil
	wait(t, store.Apply(storage.Turn{Alarm: &storage.Alarm{}}, nil)) // a removal is not announced
	expectAlarm(t, store, storage.Alarm{}, 0)

	refused, no := set(400), errors.New("no")
	<-announced
	proceed <- no
	if err := refused.Wait(t.Context()); !errors.Is(err, no) {
		t.Errorf("a turn whose alarm could not be announced: %v", err)
	}
	if s.Reopen != nil {
		store = s.Reopen(t, store)
		defer store.Close()
		expectAlarm(t, store, storage.Alarm{}, 0)
	}
}

func isDone(c *storage.Commit) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

func expectAlarm(t *testing.T, s *storage.Store, want storage.Alarm, earliest int64) {
	t.Helper()
	if got, err := s.Alarm(); err != nil || got != want {
		t.Errorf("the alarm is %+v (%v), want %+v", got, err, want)
	}
	if got, err := s.EarliestAlarm(); err != nil || got != earliest {
		t.Errorf("the earliest alarm is %d (%v), want %d", got, err, earliest)
	}
}
