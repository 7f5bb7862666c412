package storage

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
)

// backend is where committed turns are. Its methods may be called at once from several goroutines, except commit
// and close, which only the writer calls.
type backend interface {
	get(key string) ([]byte, bool, error)
	size(key string) (int64, bool, error)
	scan(s span, reverse bool, visit visitor) error
	// commit makes the turns durable, all or none; total is the size of keys and values after them.
	commit(turns []*pending, total int64) error
	bytes() (int64, error)
	alarm() (Alarm, error)
	since(after uint64, visit func(sequence uint64, entry []byte) bool) error
	close() error
}

// visitor is told of keys in order. The size is that of the value, which may be read during the visit only.
type visitor func(key string, size int64, value func() ([]byte, error)) (more bool, err error)

// Store is one gadget's storage. Its methods may be called from several goroutines.
type Store struct {
	quota   int64
	backend backend
	onAlarm func(due int64) error // may be nil

	mu      sync.Mutex
	overlay overlay
	queue   []*pending
	writing []*pending // on their way to the backend
	number  uint64     // of the last turn applied
	stored  int64      // keys and values in the backend
	total   int64      // keys and values, pending turns included
	commits int64
	changes int64

	alarm       Alarm // pending turns included
	storedAlarm Alarm // in the backend

	err     error // why the store takes no more work; nil while it does
	closing bool

	work   chan struct{} // holds a token when the queue is not empty or the store is closing
	done   chan struct{} // closed when the writer has ended
	writes sync.Mutex    // held by the writer during a commit, and by CopyTo between two
}

// pending is a turn on its way to the backend.
type pending struct {
	turn   Turn
	entry  []byte
	number uint64
	total  int64
	commit *Commit
}

// Commit is the future of a turn.
type Commit struct {
	store  *Store
	number uint64
	done   chan struct{}
	err    error
}

// Wait returns nil once the turn is durable, or why it failed. It may be called many times.
func (c *Commit) Wait(ctx context.Context) error {
	select {
	case <-c.done:
		return c.err
	default:
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Done is closed once the turn is durable or has failed.
func (c *Commit) Done() <-chan struct{} { return c.done }

// Drop takes the turn and all later ones back, unless they are already on their way to the disk: Wait returns
// ErrDropped for them, and the store goes on as if they had never been applied.
func (c *Commit) Drop() { c.store.drop(c.number) }

func (c *Commit) settle(err error) {
	c.err = err
	close(c.done)
}

func newStore(b backend, o *Options) *Store {
	s := &Store{quota: DefaultQuota, backend: b, work: make(chan struct{}, 1), done: make(chan struct{})}
	if o != nil && o.Quota != 0 {
		s.quota = o.Quota
	}
	if o != nil {
		s.onAlarm = o.Alarm
	}
	s.total, s.err = b.bytes()
	if s.err == nil {
		s.storedAlarm, s.err = b.alarm()
	}
	s.alarm = s.storedAlarm
	s.stored = s.total
	go s.write()
	return s
}

// Get returns the value of a key, pending turns included, and whether there is one. The caller owns the bytes.
func (s *Store) Get(key string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, false, s.closedLocked()
	}
	if w, ok := s.overlay.writes[key]; ok {
		return slices.Clone(w.value), !w.delete, nil
	}
	if s.overlay.cleared != 0 || !validKey(key) {
		return nil, false, nil
	}
	return s.backend.get(key)
}

// List returns the chosen entries in order, pending turns included. The caller owns the bytes.
func (s *Store) List(o ListOptions) ([]Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.closedLocked()
	}
	m := merge{overlay: &s.overlay, keys: s.overlay.within(o.span()), reverse: o.Reverse, limit: o.Limit, maxBytes: o.MaxBytes}
	if s.overlay.cleared == 0 {
		if err := s.backend.scan(o.span(), o.Reverse, m.visit); err != nil {
			return nil, err
		}
	}
	if err := m.take(func(string) bool { return true }); err != nil {
		return nil, err
	}
	return m.entries, nil
}

// Apply makes the turn's writes visible and hands them to the writer. It never blocks on the disk for long. The
// entry, unless nil, is stored in the same transaction under the next sequence number. The store keeps the value
// bytes: the caller must not change them afterwards.
func (s *Store) Apply(t Turn, entry []byte) *Commit {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &Commit{store: s, done: make(chan struct{})}
	if s.err != nil || s.closing {
		c.settle(s.closedLocked())
		return c
	}
	total, err := s.weighLocked(t)
	if err != nil {
		s.err = err
		c.settle(err)
		return c
	}
	s.number++
	s.total, c.number = total, s.number
	s.overlay.add(s.number, t)
	if t.Alarm != nil {
		s.alarm = *t.Alarm
	}
	if !t.empty() {
		s.changes++
	}
	s.queue = append(s.queue, &pending{t, entry, s.number, total, c})
	s.wake()
	return c
}

// drop takes back the turns from a number on that the writer has not taken.
func (s *Store) drop(from uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := slices.IndexFunc(s.queue, func(p *pending) bool { return p.number >= from })
	if from == 0 || k < 0 { // a turn that was refused has no number
		return
	}
	dropped := s.queue[k:]
	s.queue = s.queue[:k:k]
	s.overlay, s.total, s.alarm = overlay{}, s.stored, s.storedAlarm
	for _, left := range [][]*pending{s.writing, s.queue} {
		for _, p := range left {
			s.overlay.add(p.number, p.turn)
			s.total = p.total
			if p.turn.Alarm != nil {
				s.alarm = *p.turn.Alarm
			}
		}
	}
	for _, p := range dropped {
		p.commit.settle(fmt.Errorf("storage: %w", ErrDropped))
	}
}

// weighLocked checks the turn's keys and returns the total size after it.
func (s *Store) weighLocked(t Turn) (int64, error) {
	total, turn := s.total, map[string]int64{}
	if t.Clear {
		total = 0
	}
	for _, w := range t.Writes {
		if !validKey(w.Key) {
			return 0, fmt.Errorf("storage: %w", ErrKey)
		}
		old, ok := turn[w.Key]
		if !ok && !t.Clear {
			var err error
			if old, err = s.weightLocked(w.Key); err != nil {
				return 0, err
			}
		}
		now := int64(0)
		if !w.Delete {
			now = int64(len(w.Key) + len(w.Value))
		}
		turn[w.Key] = now
		total += now - old
	}
	if s.quota >= 0 && total > s.quota && total > s.total {
		return 0, fmt.Errorf("storage: %w (%d bytes of %d)", ErrQuota, total, s.quota)
	}
	return total, nil
}

// weightLocked returns the bytes that a key and its value take now.
func (s *Store) weightLocked(key string) (int64, error) {
	if w, ok := s.overlay.writes[key]; ok {
		if w.delete {
			return 0, nil
		}
		return int64(len(key) + len(w.value)), nil
	}
	if s.overlay.cleared != 0 {
		return 0, nil
	}
	n, ok, err := s.backend.size(key)
	if !ok || err != nil {
		return 0, err
	}
	return n + int64(len(key)), nil
}

// Entries visits the entries stored after the given sequence number, in order, until visit returns false. Pending
// turns are not included.
func (s *Store) Entries(after uint64, visit func(sequence uint64, entry []byte) bool) error {
	s.mu.Lock()
	err := s.err
	s.mu.Unlock()
	if err != nil {
		return s.closed(err)
	}
	return s.backend.since(after, visit)
}

// Err returns why the store takes no more work: nil while it does, ErrClosed after Close, else the failure of the
// first turn that failed.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Stats returns the store's counters.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Turns: int64(s.number), Commits: s.commits, Bytes: s.total, Changes: s.changes}
}

// Close commits what is pending, closes the file and returns the failure of a pending turn, if any. It may be
// called twice.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.wake()
	<-s.done
	if err := s.Err(); err != ErrClosed {
		return err
	}
	return nil
}

func (s *Store) wake() {
	select {
	case s.work <- struct{}{}:
	default:
	}
}

// closedLocked is the error of work that comes after the store's end.
func (s *Store) closedLocked() error { return s.closed(s.err) }

func (s *Store) closed(err error) error {
	if err == nil || err == ErrClosed {
		return ErrClosed
	}
	return fmt.Errorf("%w after an earlier failure: %w", ErrClosed, err)
}

func validKey(key string) bool { return key != "" && len(key) <= MaxKey }

// merge lays the overlay's keys over the backend's during one List.
type merge struct {
	overlay  *overlay
	keys     []string // overlaid keys not yet listed, sorted
	reverse  bool
	limit    int
	maxBytes int64
	size     int64
	entries  []Entry
}

func (m *merge) full() bool { return m.limit > 0 && len(m.entries) >= m.limit }

// next returns the overlaid key that comes next.
func (m *merge) next() string {
	if m.reverse {
		return m.keys[len(m.keys)-1]
	}
	return m.keys[0]
}

// visit takes the backend's next key.
func (m *merge) visit(key string, size int64, value func() ([]byte, error)) (bool, error) {
	if err := m.take(func(k string) bool { return k != key && (k < key) != m.reverse }); err != nil || m.full() {
		return false, err
	}
	if len(m.keys) > 0 && m.next() == key {
		err := m.take(func(k string) bool { return k == key })
		return !m.full(), err
	}
	if err := m.weigh(key, size); err != nil {
		return false, err
	}
	v, err := value()
	if err != nil {
		return false, err
	}
	m.entries = append(m.entries, Entry{key, v})
	return !m.full(), nil
}

// take takes the next overlaid keys, as long as they are wanted.
func (m *merge) take(wanted func(key string) bool) error {
	for len(m.keys) > 0 && !m.full() && wanted(m.next()) {
		key := m.next()
		if m.reverse {
			m.keys = m.keys[:len(m.keys)-1]
		} else {
			m.keys = m.keys[1:]
		}
		w := m.overlay.writes[key]
		if w.delete {
			continue
		}
		if err := m.weigh(key, int64(len(w.value))); err != nil {
			return err
		}
		m.entries = append(m.entries, Entry{key, bytes.Clone(w.value)})
	}
	return nil
}

// weigh counts an entry before it is read.
func (m *merge) weigh(key string, size int64) error {
	m.size += int64(len(key)) + size + EntryCost
	if m.maxBytes > 0 && m.size > m.maxBytes {
		return fmt.Errorf("storage: %w", ErrTooLarge)
	}
	return nil
}
