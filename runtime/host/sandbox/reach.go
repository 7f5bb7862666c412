package sandbox

import (
	"errors"
	"math"
	"time"
	"unicode/utf8"

	"toolshed/runtime/host/wire"
	"toolshed/runtime/storage"
)

// A worker is the hostSide of its vm: this is all that a guest can reach.

// ask asks the kernel and waits; the guest's clock stands still meanwhile.
func (w *worker) ask(p *wire.Packer) (*wire.Unpacker, error) {
	from := time.Now()
	w.box.out.PutSlow(p.Done(), maxQueued)
	select {
	case body := <-w.answers:
		w.vm.turn.pause(time.Since(from))
		u := &wire.Unpacker{B: body}
		if text := u.Text(); text != "" {
			return nil, errors.New(text)
		}
		return u, u.Err
	case <-w.stopped:
		return nil, wire.Fail(wire.KindClosed, "closed")
	}
}

func checkKey(key string) error {
	if len(key) == 0 || len(key) > storage.MaxKey {
		return storage.ErrKey
	}
	if !utf8.ValidString(key) {
		return errors.New("a key must be well-formed text")
	}
	return nil
}

func (w *worker) get(key string) (string, bool, error) {
	if err := checkKey(key); err != nil {
		return "", false, err
	}
	if value, found, known := w.over.find(key); known {
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
	if !w.over.cleared {
		p := wire.Pack(wire.Ask, w.id).Uint(wire.AskList)
		wire.PackList(p, w.over.widen(o))
		u, err := w.ask(p)
		if err != nil {
			return nil, err
		}
		for n := u.Count(); n > 0; n-- {
			below = append(below, storage.Entry{Key: u.Text(), Value: u.Bytes()})
		}
		if u.Err != nil {
			return nil, u.Err
		}
	}
	return w.over.merge(o, below), nil
}

func (w *worker) put(key, value string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if w.over.size+w.said+len(key)+len(value) > wire.MaxTurn {
		return errors.New("too much is written in one turn")
	}
	w.over.set(storage.Write{Key: key, Value: []byte(value)})
	return nil
}

func (w *worker) remove(key string) (bool, error) {
	_, found, err := w.get(key)
	if err == nil && found {
		w.over.set(storage.Write{Key: key, Delete: true})
	}
	return found, err
}

func (w *worker) clear() error {
	w.over.clear()
	return nil
}

func (w *worker) send(text string) error {
	w.said += len(text)
	if len(text) > wire.MaxMessage || w.over.size+w.said > wire.MaxTurn || len(w.messages) >= wire.MaxHeldN {
		return wire.Fail(wire.KindProtocol, "the gadget said more than it may")
	}
	w.messages = append(w.messages, text)
	return nil
}

func (w *worker) log(lvl, text string) error {
	ok, dropped := w.gate.Admit(time.Now())
	if ok {
		from := time.Now()
		w.box.out.PutSlow(wire.Pack(wire.Log, w.id).Text(wire.Level(lvl)).Text(wire.Clip(text, wire.MaxLine)).Uint(uint64(dropped)).Done(),
			maxQueued)
		w.vm.turn.pause(time.Since(from))
	}
	return nil
}

// tellDropped tells how many lines were dropped when none follow.
func (w *worker) tellDropped() {
	if n := w.gate.Dropped; n > 0 {
		w.gate.Dropped = 0
		w.box.out.PutSlow(wire.Pack(wire.Log, w.id).Text("").Text("").Uint(uint64(n)).Done(), maxQueued)
	}
}

func (w *worker) wake(ms float64) error {
	switch {
	case math.IsNaN(ms) || ms < 0:
		w.wakeAt = time.Time{}
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
