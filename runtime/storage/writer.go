package storage

import "fmt"

// write is the writer: the only goroutine that commits.
func (s *Store) write() {
	defer close(s.done)
	for range s.work {
		for s.commitQueue() {
		}
		if s.ended() {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.backend.close()
	if s.err == nil {
		if s.err = err; err == nil {
			s.err = ErrClosed
		}
	}
}

// announce tells of an alarm before it is durable.
func (s *Store) announce(a *Alarm) error {
	if a == nil || a.Due == 0 || s.onAlarm == nil {
		return nil
	}
	if err := s.onAlarm(a.Due); err != nil {
		return fmt.Errorf("storage: announce an alarm: %w", err)
	}
	return nil
}

func (s *Store) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing && len(s.queue) == 0
}

// commitQueue commits all turns that wait and reports whether there were any.
func (s *Store) commitQueue() bool {
	s.mu.Lock()
	batch := s.queue
	s.queue, s.writing = nil, batch
	s.mu.Unlock()
	if len(batch) == 0 {
		return false
	}
	last := batch[len(batch)-1]
	alarm := lastAlarm(batch)
	err := s.announce(alarm)
	if err == nil {
		s.writes.Lock()
		err = s.backend.commit(batch, last.total)
		s.writes.Unlock()
	}

	s.mu.Lock()
	s.writing = nil
	if err == nil {
		s.commits++
		s.stored = last.total
		if alarm != nil {
			s.storedAlarm = *alarm
		}
		s.overlay.drop(last.number)
	} else {
		batch = append(batch, s.queue...)
		s.queue = nil
		s.err = err
	}
	s.mu.Unlock()
	for n, p := range batch {
		if err != nil && n > 0 {
			p.commit.settle(s.closed(err))
			continue
		}
		p.commit.settle(err)
	}
	return true
}
