package storage

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
	s.writes.Lock()
	err := s.backend.commit(batch, last.total)
	s.writes.Unlock()

	s.mu.Lock()
	s.writing = nil
	if err == nil {
		s.commits++
		s.stored = last.total
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
