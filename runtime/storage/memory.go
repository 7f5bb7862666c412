package storage

import (
	"slices"
	"sync"
)

// OpenMemory returns a store that lives in memory, with the semantics of a file.
func OpenMemory() *Store { return newStore(&memory{values: map[string][]byte{}}, &Options{}) }

// memory is the backend of OpenMemory. Its keys are sorted when a scan needs them.
type memory struct {
	mu      sync.Mutex
	values  map[string][]byte
	keys    []string // sorted; nil when out of date
	entries [][]byte
	total   int64
	wake    Alarm
}

func (m *memory) get(key string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.values[key]
	return slices.Clone(v), ok, nil
}

func (m *memory) size(key string) (int64, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.values[key]
	return int64(len(v)), ok, nil
}

func (m *memory) scan(s span, reverse bool, visit visitor) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keys == nil {
		for k := range m.values {
			m.keys = append(m.keys, k)
		}
		slices.Sort(m.keys)
	}
	from, _ := slices.BinarySearch(m.keys, s.lo)
	to := len(m.keys)
	if s.hi != "" {
		to, _ = slices.BinarySearch(m.keys, s.hi)
	}
	for n := from; n < to; n++ {
		key := m.keys[n]
		if reverse {
			key = m.keys[to-1-(n-from)]
		}
		more, err := visit(key, int64(len(m.values[key])), func() ([]byte, error) { return slices.Clone(m.values[key]), nil })
		if err != nil || !more {
			return err
		}
	}
	return nil
}

func (m *memory) commit(turns []*pending, total int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range turns {
		if p.turn.Clear {
			clear(m.values)
		}
		for _, w := range p.turn.Writes {
			if w.Delete {
				delete(m.values, w.Key)
			} else {
				m.values[w.Key] = w.Value
			}
		}
		if p.entry != nil {
			m.entries = append(m.entries, p.entry)
		}
	}
	if a := lastAlarm(turns); a != nil {
		m.wake = *a
	}
	m.keys, m.total = nil, total
	return nil
}

func (m *memory) alarm() (Alarm, error) { return m.wake, nil }
func (m *memory) bytes() (int64, error) { return m.total, nil }
func (m *memory) close() error          { return nil }

func (m *memory) since(after uint64, visit func(uint64, []byte) bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := after; n < uint64(len(m.entries)); n++ {
		if !visit(n+1, slices.Clone(m.entries[n])) {
			return nil
		}
	}
	return nil
}
