package storage

import "sort"

// overlay holds the writes of turns that are not yet in the backend.
type overlay struct {
	writes  map[string]overlaid
	keys    []string // sorted keys of writes; nil when out of date
	cleared uint64   // the last turn with Clear: until it is committed the backend is hidden
}

// overlaid is the last pending write of a key and the number of its turn.
type overlaid struct {
	value  []byte
	delete bool
	turn   uint64
}

// add lays the turn with this number over what is there.
func (o *overlay) add(number uint64, t Turn) {
	if t.Clear {
		o.writes, o.cleared = nil, number
	}
	if o.writes == nil {
		o.writes = make(map[string]overlaid, len(t.Writes))
	}
	for _, w := range t.Writes {
		o.writes[w.Key] = overlaid{w.Value, w.Delete, number}
	}
	o.keys = nil
}

// drop forgets the committed turns up to and including number.
func (o *overlay) drop(number uint64) {
	for key, w := range o.writes {
		if w.turn <= number {
			delete(o.writes, key)
		}
	}
	if o.cleared <= number {
		o.cleared = 0
	}
	o.keys = nil
}

// within returns the overlaid keys of a range, sorted. They are the overlay's own.
func (o *overlay) within(s span) []string {
	if o.keys == nil && len(o.writes) > 0 {
		for key := range o.writes {
			o.keys = append(o.keys, key)
		}
		sort.Strings(o.keys)
	}
	from, to := sort.SearchStrings(o.keys, s.lo), len(o.keys)
	if s.hi != "" {
		to = max(from, sort.SearchStrings(o.keys, s.hi))
	}
	return o.keys[from:to]
}
