package sandbox

import (
	"errors"
	"math"
	"time"

	"toolshed/runtime/host/sandbox/overlay"
	"toolshed/runtime/host/wire"
	"toolshed/runtime/storage"
)

// A worker is the hostSide of its vm: this is all that a guest can reach.

// ask asks the kernel and waits; the guest's clock stands still meanwhile, except for what the kernel does for it.
func (w *worker) ask(p *wire.Packer) (*wire.Unpacker, error) {
	from := time.Now()
	if w.vm.turn.Struck(from) { // the engine does not ask in time: a call is one step to it, however long it takes
		return nil, errors.New("the call was interrupted: " + w.vm.turn.TooLong())
	}
	w.vm.lasting()
	w.emit(p.Done())
	select {
	case body := <-w.answers:
		u := &wire.Unpacker{B: body}
		w.vm.turn.Waited(time.Since(from), time.Duration(u.Uint()))
		if text := u.Text(); text != "" {
			return nil, errors.New(text)
		}
		return u, u.Err
	case <-w.inbox.Stopped():
		return nil, wire.Fail(wire.KindClosed, "closed")
	}
}

func (w *worker) get(key string) (string, bool, error) {
	if err := overlay.CheckKey(key); err != nil {
		return "", false, err
	}
	if value, found, known := w.over.Find(key); known {
		return string(value), found, nil
	}
	u, err := w.ask(wire.Pack(wire.Ask, w.id).Uint(wire.AskGet).Text(key))
	if err != nil {
		return "", false, err
	}
	found, value := u.Bool(), u.Text()
	return value, found, u.Err
}

func (w *worker) list(o storage.ListOptions) ([]storage.Entry, error) {
	var below []storage.Entry
	if !w.over.Hidden() {
		p := wire.Pack(wire.Ask, w.id).Uint(wire.AskList)
		wire.PackList(p, w.over.Widen(o))
		u, err := w.ask(p)
		if err != nil {
			return nil, err
		}
		for n := u.CountOf(2, math.MaxInt); n > 0; n-- {
			below = append(below, storage.Entry{Key: u.Text(), Value: u.Bytes()})
		}
		if u.Err != nil {
			return nil, u.Err
		}
	}
	list, size := w.over.Merge(o, below), 0
	for _, e := range list {
		if size += len(e.Key) + len(e.Value) + storage.EntryCost; size > wire.MaxList {
			return nil, wire.ErrList
		}
	}
	return list, nil
}

func (w *worker) put(key, value string) error {
	if err := overlay.CheckKey(key); err != nil {
		return err
	}
	return w.over.Add(storage.Write{Key: key, Value: []byte(value)}, w.said)
}

func (w *worker) remove(key string) (bool, error) {
	_, found, err := w.get(key)
	if err == nil && found {
		err = w.over.Add(storage.Write{Key: key, Delete: true}, w.said)
	}
	return found, err
}

func (w *worker) clear() error { w.over.Clear(); return nil }

func (w *worker) alarm() (int64, error) {
	if at, known := w.over.Alarm(); known {
		return at, nil
	}
	u, err := w.ask(wire.Pack(wire.Ask, w.id).Uint(wire.AskAlarm))
	if err != nil {
		return 0, err
	}
	return int64(min(u.Uint(), wire.MaxTime)), u.Err
}

func (w *worker) setAlarm(at int64) error { w.over.SetAlarm(at); return nil }

func (w *worker) begin(sync bool) (int, error) { return w.over.Begin(sync) }
func (w *worker) commit(layer int) error       { return w.over.Commit(layer) }
func (w *worker) rollback(layer int) error     { return w.over.Rollback(layer) }

// unwound is told that code of the guest was broken off.
func (w *worker) unwound() { w.over.Unwind() }

func (w *worker) send(text string) error {
	w.said += len(text)
	if len(text) > wire.MaxMessage || w.over.Size()+w.said > wire.MaxTurn || len(w.messages) >= wire.MaxMessages {
		return wire.Fail(wire.KindProtocol, "the gadget said more than it may")
	}
	w.messages = append(w.messages, text)
	return nil
}

func (w *worker) log(lvl, text string) error {
	ok, dropped := w.gate.Admit(time.Now())
	if ok {
		from := time.Now()
		w.emit(wire.Pack(wire.Log, w.id).Text(wire.Level(lvl)).Text(wire.Clip(text, wire.MaxLine)).Uint(uint64(dropped)).Done())
		w.vm.turn.Waited(time.Since(from), 0)
		w.logged = true
	}
	return nil
}

// tellDropped tells how many lines were dropped when none follow.
func (w *worker) tellDropped() {
	if n := w.gate.Dropped; n > 0 {
		w.gate.Dropped = 0
		w.emit(wire.Pack(wire.Log, w.id).Text("").Text("").Uint(uint64(n)).Done())
	}
}

func (w *worker) wake(ms float64) error {
	switch {
	case math.IsNaN(ms) || ms < 0:
		w.wakeAt = time.Time{}
	case ms == 0: // at once, but after the messages that are there
		w.wakeAt = time.Now()
	default:
		w.wakeAt = time.UnixMilli(int64(min(ms, 8.64e15)))
		if earliest := time.Now().Add(time.Millisecond); w.wakeAt.Before(earliest) {
			w.wakeAt = earliest
		}
	}
	return nil
}

func (w *worker) fail(text string) error {
	kind := wire.KindProtocol
	if w.starting {
		kind = wire.KindStart
	}
	return wire.Fail(kind, wire.Clip(text, wire.MaxLine))
}
