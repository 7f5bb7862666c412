// Package overlay holds what a turn of a gadget has written so far, over what the kernel has.
//
// A Turn is a stack of layers. Everything is read through all of them and written to the top one. Begin adds a layer,
// Commit lays it over the one below, Rollback forgets it: these are the gadget's transactions. The bottom layer is what
// the turn commits; the layers above it stay when it is taken, until whoever began them ends them.
//
// A synchronous layer lives no longer than the code that began it: Unwind forgets it where that code was broken off.
package overlay

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"toolshed/runtime/host/wire"
	"toolshed/runtime/storage"
)

// MaxLayers is the largest number of layers, the bottom one included.
const MaxLayers = 64

// Errors of Begin, Commit and Rollback. They are shown to the gadget.
var (
	ErrLayers = errors.New("too many transactions are inside one another: at most 63 may be")
	ErrNone   = errors.New("no transaction is open")
)

// Turn is ready to use as its zero value. It is used by one goroutine.
type Turn struct {
	base  layer
	above []*layer
}

// layer is what was written between two points.
type layer struct {
	sync    bool
	cleared bool
	writes  map[string]*storage.Write
	order   []string // keys in the order of their first write
	size    int      // bytes of keys and values, and the cost of each write
	alarm   *int64
}

func (t *Turn) top() *layer {
	if n := len(t.above); n > 0 {
		return t.above[n-1]
	}
	return &t.base
}

// under visits the layers from the top one down to the one that hides what is below it, until visit returns false.
// It reports whether what the kernel has is hidden.
func (t *Turn) under(visit func(*layer) bool) (hidden bool) {
	for n := len(t.above); n >= 0; n-- {
		l := &t.base
		if n > 0 {
			l = t.above[n-1]
		}
		if !visit(l) || l.cleared {
			return l.cleared
		}
	}
	return false
}

// Open tells whether a transaction is open.
func (t *Turn) Open() bool { return len(t.above) > 0 }

// Begin adds a layer and returns how many there are above the bottom one.
func (t *Turn) Begin(sync bool) (int, error) {
	if len(t.above)+1 >= MaxLayers {
		return 0, ErrLayers
	}
	t.above = append(t.above, &layer{sync: sync})
	return len(t.above), nil
}

// Commit lays the layers from number n on over the one below them.
func (t *Turn) Commit(n int) error {
	if n < 1 || n > len(t.above) {
		return ErrNone
	}
	for len(t.above) >= n {
		upper := t.top()
		t.above = t.above[:len(t.above)-1]
		lower := t.top()
		if upper.cleared {
			lower.clear()
		}
		for _, key := range upper.order {
			lower.set(*upper.writes[key])
		}
		if upper.alarm != nil {
			lower.alarm = upper.alarm
		}
	}
	return nil
}

// Rollback forgets the layers from number n on.
func (t *Turn) Rollback(n int) error {
	if n < 1 || n > len(t.above) {
		return ErrNone
	}
	clear(t.above[n-1:])
	t.above = t.above[:n-1]
	return nil
}

// Unwind forgets the synchronous layers and those on them: the code that began them is gone.
func (t *Turn) Unwind() {
	if n := slices.IndexFunc(t.above, func(l *layer) bool { return l.sync }); n >= 0 {
		_ = t.Rollback(n + 1)
	}
}

// Size is the bytes of the writes of all layers, with the cost of each write.
func (t *Turn) Size() int {
	size := t.base.size
	for _, l := range t.above {
		size += l.size
	}
	return size
}

// Next returns the size after a write, and whether it would be one too many.
func (t *Turn) Next(w storage.Write) (size int, full bool) {
	size = t.Size()
	top := t.top()
	if was := top.writes[w.Key]; was != nil {
		return size + len(w.Value) - len(was.Value), false
	}
	count := len(t.base.order)
	for _, l := range t.above {
		count += len(l.order)
	}
	return size + len(w.Key) + len(w.Value) + wire.WriteCost, count >= wire.MaxWrites
}

// Add adds a write within the bounds of a turn that has said so many bytes. Its errors are shown to the gadget.
func (t *Turn) Add(w storage.Write, said int) error {
	switch size, full := t.Next(w); {
	case full:
		return fmt.Errorf("a turn may write or remove at most %d keys: do the rest in another call", wire.MaxWrites)
	case size+said > wire.MaxTurn:
		return fmt.Errorf("a turn may write at most %d MiB: do the rest in another call", wire.MaxTurn>>20)
	}
	t.Set(w)
	return nil
}

// CheckKey tells what is wrong with a key. Its errors are shown to the gadget.
func CheckKey(key string) error {
	if len(key) == 0 || len(key) > storage.MaxKey {
		return storage.ErrKey
	}
	if !utf8.ValidString(key) {
		return errors.New("a key must be well-formed text")
	}
	return nil
}

// Find returns the turn's own value of a key; known is false if only the kernel can tell.
func (t *Turn) Find(key string) (value []byte, found, known bool) {
	hidden := t.under(func(l *layer) bool {
		if w := l.writes[key]; w != nil {
			value, found, known = w.Value, !w.Delete, true
		}
		return !known
	})
	return value, found, known || hidden
}

// Set writes to the top layer.
func (t *Turn) Set(w storage.Write) { t.top().set(w) }

// Clear removes every key.
func (t *Turn) Clear() { t.top().clear() }

// SetAlarm sets the alarm, in milliseconds since 1970; 0 removes it.
func (t *Turn) SetAlarm(at int64) { t.top().alarm = &at }

// Alarm returns the turn's own alarm; known is false if only the kernel can tell.
func (t *Turn) Alarm() (at int64, known bool) {
	for n := len(t.above); n > 0; n-- {
		if a := t.above[n-1].alarm; a != nil {
			return *a, true
		}
	}
	if t.base.alarm != nil {
		return *t.base.alarm, true
	}
	return 0, false
}

func (l *layer) set(w storage.Write) {
	if l.writes == nil {
		l.writes = map[string]*storage.Write{}
	}
	if was := l.writes[w.Key]; was != nil {
		l.size += len(w.Value) - len(was.Value)
		*was = w
		return
	}
	l.size += len(w.Key) + len(w.Value) + wire.WriteCost
	l.writes[w.Key] = &w
	l.order = append(l.order, w.Key)
}

func (l *layer) clear() { *l = layer{sync: l.sync, cleared: true, alarm: l.alarm} }

// Empty reports whether Take would take nothing.
func (t *Turn) Empty() bool { return !t.base.cleared && len(t.base.order) == 0 && t.base.alarm == nil }

// Pack adds the bottom layer to a frame, as wire.UnpackTurn reads it, and empties that layer. It returns its size.
func (t *Turn) Pack(p *wire.Packer) (size int) {
	b := t.base
	t.base = layer{}
	p.Bool(b.cleared)
	wire.PackAlarm(p, b.alarm)
	p.Uint(uint64(len(b.order)))
	for _, key := range b.order {
		w := b.writes[key]
		p.Text(key).Bool(w.Delete).Bytes(w.Value)
	}
	return b.size
}

// Hidden reports whether nothing that the kernel has can be seen.
func (t *Turn) Hidden() bool { return t.under(func(*layer) bool { return true }) }

// Widen returns the options for asking the kernel, so that enough entries are left after the turn's own removals.
func (t *Turn) Widen(o storage.ListOptions) storage.ListOptions {
	if o.Limit == 0 {
		return o
	}
	more := 0
	t.under(func(l *layer) bool {
		for _, key := range l.order {
			if l.writes[key].Delete && inList(o, key) {
				more++
			}
		}
		return true
	})
	o.Limit += more
	return o
}

// Merge lays the turn's writes over entries that the kernel listed with Widen's options.
func (t *Turn) Merge(o storage.ListOptions, below []storage.Entry) []storage.Entry {
	var out []storage.Entry
	var upper []*layer
	overwritten := func(key string) bool {
		return slices.ContainsFunc(upper, func(l *layer) bool { return l.writes[key] != nil })
	}
	hidden := t.under(func(l *layer) bool {
		for _, key := range l.order {
			if w := l.writes[key]; !w.Delete && inList(o, key) && !overwritten(key) {
				out = append(out, storage.Entry{Key: key, Value: w.Value})
			}
		}
		upper = append(upper, l)
		return true
	})
	for _, e := range below {
		if !hidden && !overwritten(e.Key) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b storage.Entry) int {
		if o.Reverse {
			a, b = b, a
		}
		return strings.Compare(a.Key, b.Key)
	})
	if o.Limit > 0 && len(out) > o.Limit {
		out = out[:o.Limit]
	}
	return out
}

func inList(o storage.ListOptions, key string) bool {
	return key >= o.Start && (o.StartAfter == "" || key > o.StartAfter) && (o.End == "" || key < o.End) &&
		strings.HasPrefix(key, o.Prefix)
}
