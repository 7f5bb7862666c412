package sandbox

import (
	"slices"
	"strings"

	"toolshed/runtime/host/wire"
	"toolshed/runtime/storage"
)

// overlay holds what one turn has written so far, over what the kernel has.
type overlay struct {
	cleared bool
	writes  map[string]*storage.Write
	order   []string // keys in the order of their first write
	size    int      // bytes of keys and values, and the cost of each write
}

// next returns the size after a write, and whether it would be one too many.
func (o *overlay) next(w storage.Write) (size int, full bool) {
	if was := o.writes[w.Key]; was != nil {
		return o.size + len(w.Value) - len(was.Value), false
	}
	return o.size + len(w.Key) + len(w.Value) + wire.WriteCost, len(o.order) >= wire.MaxWrites
}

// find returns the turn's own value of a key; known is false if only the kernel can tell.
func (o *overlay) find(key string) (value []byte, found, known bool) {
	if w := o.writes[key]; w != nil {
		return w.Value, !w.Delete, true
	}
	return nil, false, o.cleared
}

func (o *overlay) set(w storage.Write) {
	if o.writes == nil {
		o.writes = map[string]*storage.Write{}
	}
	o.size, _ = o.next(w)
	if was := o.writes[w.Key]; was != nil {
		*was = w
		return
	}
	o.writes[w.Key] = &w
	o.order = append(o.order, w.Key)
}

func (o *overlay) clear() { *o = overlay{cleared: true} }

func (o *overlay) empty() bool { return !o.cleared && len(o.order) == 0 }

// widen returns the options for asking the kernel, so that enough entries are left after the turn's own removals.
func (o *overlay) widen(l storage.ListOptions) storage.ListOptions {
	if l.Limit > 0 {
		for _, key := range o.order {
			if o.writes[key].Delete && inList(l, key) {
				l.Limit++
			}
		}
	}
	return l
}

// merge lays the turn's writes over entries that the kernel listed with widen's options.
func (o *overlay) merge(l storage.ListOptions, below []storage.Entry) []storage.Entry {
	var out []storage.Entry
	for _, e := range below {
		if o.writes[e.Key] == nil {
			out = append(out, e)
		}
	}
	for _, key := range o.order {
		if w := o.writes[key]; !w.Delete && inList(l, key) {
			out = append(out, storage.Entry{Key: key, Value: w.Value})
		}
	}
	slices.SortFunc(out, func(a, b storage.Entry) int {
		if l.Reverse {
			a, b = b, a
		}
		return strings.Compare(a.Key, b.Key)
	})
	if l.Limit > 0 && len(out) > l.Limit {
		out = out[:l.Limit]
	}
	return out
}

func inList(l storage.ListOptions, key string) bool {
	return key >= l.Start && (l.StartAfter == "" || key > l.StartAfter) && (l.End == "" || key < l.End) &&
		strings.HasPrefix(key, l.Prefix)
}
