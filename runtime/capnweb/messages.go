package capnweb

import "strconv"

// head starts a message about an id: ["kind",id,
func (e *encoder) head(kind string, id int64) {
	e.buf = append(append(append(e.buf, `["`...), kind...), `",`...)
	e.buf = append(strconv.AppendInt(e.buf, id, 10), ',')
}

// handle deals with one incoming message; an error ends the session.
func (s *Session) handle(msg []byte) error {
	if len(msg) > s.opts.MaxMessage {
		return errTooLarge
	}
	// Each level of a value is at most two levels of JSON, and an expression adds three.
	p := parser{b: msg, max: 2*s.opts.MaxDepth + 8, room: s.budget.room() + smallMessage, stack: s.spare}
	tree, size, err := p.whole()
	if err != nil {
		return err
	}
	if cap(p.stack) <= maxSpareStack {
		s.spare = p.stack
	}
	m, ok := tree.([]any)
	if !ok || len(m) == 0 {
		return errBadMessage
	}
	s.mu.Lock()
	s.received++
	s.mu.Unlock()
	kind, _ := m[0].(string)
	switch kind {
	case "push", "stream":
		if len(m) != 2 {
			return errBadMessage
		}
		return s.charged(size, func(c *charge) error { return s.onPush(m[1], c, kind == "stream") })
	case "pipe":
		if len(m) != 1 {
			return errBadMessage
		}
		return s.onPipe()
	case "abort":
		return s.onAbort(m)
	}
	if len(m) < 2 {
		return errBadMessage
	}
	id, err := wholeNumber(m[1])
	if err != nil {
		return err
	}
	switch {
	case kind == "pull" && len(m) == 2:
		if !s.startAnswer(id) {
			return errNoPull
		}
		return nil
	case (kind == "resolve" || kind == "reject") && len(m) == 3:
		return s.charged(size, func(c *charge) error { return s.onSettle(kind, id, m[2], c) })
	case kind == "release" && len(m) == 3:
		return s.onRelease(id, m[2])
	}
	return errBadMessage
}

// smallMessage is parsed even if nothing more may be held: it may be a release.
const smallMessage = 4 << 10

// charged handles a message whose values are kept, counting size for them.
func (s *Session) charged(size int, handle func(*charge) error) error {
	c, err := s.budget.charge(size + costMessage)
	if err != nil {
		return err
	}
	defer c.release()
	return handle(c)
}

// exported finds what the peer names by id.
func (s *Session) exported(id int64) (hook, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.exports[id]; x != nil {
		return x.hook, true
	}
	return nil, false
}

// roomForCall checks the limits before a call is entered.
func (s *Session) roomForCall() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls >= s.opts.MaxCalls || len(s.exports) >= s.opts.MaxExports {
		return errTooManyCalls
	}
	return nil
}

func (s *Session) onPush(raw any, c *charge, stream bool) error {
	if err := s.roomForCall(); err != nil {
		return err
	}
	e := evaluator{s: s, in: s, charge: c}
	h, err := e.hook(raw)
	if err != nil {
		return err
	}
	x := s.addPushed(&export{hook: h, refs: 1, auto: stream, pulled: stream}, c)
	if x == nil {
		h.dispose()
		return nil
	}
	if stream {
		s.answer(x)
	}
	return nil
}

// addPushed gives x the next positive id; nil if the session has ended.
func (s *Session) addPushed(x *export, c *charge) *export {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil
	}
	s.nextPushed++
	s.calls++
	x.id, x.charge = s.nextPushed, c.retain()
	s.exports[x.id] = x
	if x.auto {
		s.answering++
	}
	return x
}

func (s *Session) onSettle(kind string, id int64, raw any, c *charge) error {
	s.mu.Lock()
	entry := s.imports[id]
	s.mu.Unlock()
	if entry != nil && !entry.promise {
		return errBadMessage
	}
	e := evaluator{s: s, in: s, charge: c}
	if entry != nil {
		e.hops = entry.hops
	}
	pl, err := e.payload(raw)
	if err != nil {
		return err
	}
	var to hook
	if kind == "reject" {
		reason := thrownError(pl)
		chargeError(reason, c)
		to = &errorHook{reason}
	} else if p, ok := pl.value.(*Promise); ok {
		to = p.take()
		pl.dispose()
	} else {
		to = &valueHook{pl: pl}
	}
	if entry == nil {
		to.dispose()
		return nil
	}
	entry.settle(to)
	return nil
}

// thrownError is the Go error of what a peer threw. Stubs inside are dropped.
func thrownError(pl *payload) error {
	pl.dispose()
	if e, ok := pl.value.(*Error); ok {
		return e
	}
	return &Thrown{Value: pl.value}
}

func (s *Session) onRelease(id int64, raw any) error {
	n, err := wholeNumber(raw)
	if err != nil {
		return err
	}
	s.mu.Lock()
	x := s.exports[id]
	switch {
	case x == nil || id == 0:
		s.mu.Unlock()
		return errNoRelease
	case n < 0 || n > x.refs:
		s.mu.Unlock()
		return errNegative
	}
	x.refs -= n
	if x.refs > 0 {
		s.mu.Unlock()
		return nil
	}
	delete(s.exports, x.id)
	s.mu.Unlock()
	s.dropped(x)
	return nil
}

func (s *Session) onAbort(m []any) error {
	reason := error(plainError("the peer ended the session"))
	if len(m) == 2 {
		pl, err := (&evaluator{s: s, in: s}).payload(m[1])
		if err != nil {
			return err
		}
		reason = thrownError(pl)
	}
	s.end(reason, false)
	return nil
}
