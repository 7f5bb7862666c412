package storage

// ApplyEarly is Apply with the fault that the crash test must find: it acknowledges the turn before its commit.
func (s *Store) ApplyEarly(t Turn, entry []byte) *Commit {
	s.Apply(t, entry)
	c := &Commit{done: make(chan struct{})}
	c.settle(nil)
	return c
}

// OpenFailing opens a store in memory whose commits fail with what fail returns.
func OpenFailing(fail func() error) *Store {
	return newStore(failing{&memory{values: map[string][]byte{}}, fail}, nil)
}

type failing struct {
	*memory
	fail func() error
}

func (f failing) commit(turns []*pending, total int64) error {
	if err := f.fail(); err != nil {
		return explain(err)
	}
	return f.memory.commit(turns, total)
}

// OpenMemoryWith is OpenMemory with options.
func OpenMemoryWith(o *Options) *Store { return newStore(&memory{values: map[string][]byte{}}, o) }
