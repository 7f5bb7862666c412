package capnweb

import (
	"context"
	"strconv"
)

const textCanceled = "RPC was canceled because the RpcPromise was disposed."

// importEntry is something the peer has lent: an object, or a promise until it is resolved.
// All stubs of it share the entry. Its fields are guarded by the session's lock.
type importEntry struct {
	s          *Session
	id         int64
	refs       int  // holders here
	remote     int  // times the peer counts it as lent
	promise    bool // may be pulled
	pulled     bool
	dropped    bool // released, or to be released when the last pin is gone
	pins       int  // messages being written that name the id
	hops       int  // promises that were resolved with a promise before this one was lent
	resolution hook
	waiting    []func(hook)
	broken     []func(error)
}

// resolved returns what the entry stands for now, if that is no longer the peer's id.
func (i *importEntry) resolved() hook {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	return i.resolution
}

// pin keeps the id valid until unpin; false if it is not valid any more.
func (i *importEntry) pin() bool {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	if i.resolution != nil || i.dropped || i.s.err != nil {
		return false
	}
	i.pins++
	return true
}

func (i *importEntry) unpin() {
	i.s.mu.Lock()
	i.pins--
	if i.pins == 0 && i.dropped {
		i.sendReleaseLocked()
	}
	i.s.mu.Unlock()
	i.s.flush()
}

// dropLocked releases the id at the peer, now or when the last message naming it is queued.
func (i *importEntry) dropLocked() {
	if i.dropped || i.id == 0 {
		return
	}
	i.dropped = true
	delete(i.s.imports, i.id)
	if i.pins == 0 {
		i.sendReleaseLocked()
	}
}

func (i *importEntry) sendReleaseLocked() {
	if i.remote == 0 {
		return
	}
	b := make([]byte, 0, 24)
	b = strconv.AppendInt(append(b, `["release",`...), i.id, 10)
	b = strconv.AppendInt(append(b, ','), int64(i.remote), 10)
	i.remote = 0
	i.s.pushLocked(append(b, ']'))
}

func (i *importEntry) call(ctx context.Context, path []any, args *payload) hook {
	return i.send("push", ctx, path, args)
}

func (i *importEntry) get(ctx context.Context, path []any) hook {
	return i.send("push", ctx, path, nil)
}

// send writes a push or stream message; args is nil for a property read.
func (i *importEntry) send(kind string, ctx context.Context, path []any, args *payload) hook {
	if r := i.resolved(); r != nil {
		return resend(r, ctx, path, args)
	}
	e := encoder{s: i.s, buf: make([]byte, 0, 96)}
	e.buf = append(append(append(e.buf, `["`...), kind...), `",["pipeline",`...)
	e.buf = append(strconv.AppendInt(e.buf, i.id, 10), ',')
	e.path(path)
	if args != nil {
		e.buf = append(e.buf, `,[`...)
		list, _ := args.snapshot().([]any)
		if err := e.items(list, 1); err != nil {
			e.undo()
			args.dispose()
			return &errorHook{err}
		}
		e.buf = append(e.buf, ']')
	}
	e.buf = append(e.buf, ']', ']')
	entry, moved, err := i.s.queuePush(i, &e, kind == "stream")
	if moved != nil {
		e.undo()
		return resend(moved, ctx, path, args)
	}
	if args != nil {
		args.dispose()
	}
	if err != nil {
		e.undo()
		return &errorHook{err}
	}
	i.s.sentWith(&e)
	return entry
}

func resend(r hook, ctx context.Context, path []any, args *payload) hook {
	r = through(r)
	if args == nil {
		return r.get(ctx, path)
	}
	return r.call(ctx, path, args)
}

// queuePush gives the message in e its id, in the order of sending. If i was resolved
// meanwhile, moved is what it stands for now and nothing is sent.
func (s *Session) queuePush(i *importEntry, e *encoder, stream bool) (entry *importEntry, moved hook, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return nil, nil, s.err
	case i.resolution != nil:
		return nil, i.resolution, nil
	case i.dropped:
		return nil, nil, plainError(textDisposedHook)
	case len(s.imports) >= s.opts.MaxImports:
		return nil, nil, errTooManyImports
	}
	entry = s.newImportLocked(stream)
	s.pushLocked(e.buf)
	return entry, nil, nil
}

func (s *Session) newImportLocked(stream bool) *importEntry {
	s.nextSent++
	entry := &importEntry{s: s, id: s.nextSent, refs: 1, remote: 1, promise: true}
	if stream {
		entry.remote = 0
		entry.pulled = true
	}
	s.imports[entry.id] = entry
	return entry
}

func (i *importEntry) remap(path []any, captures []hook, prog *mapProgram) hook {
	if r := through(i); r != hook(i) {
		return r.remap(path, captures, prog)
	}
	e := encoder{s: i.s}
	e.buf = append(e.buf, `["push",["remap",`...)
	e.buf = append(strconv.AppendInt(e.buf, i.id, 10), ',')
	e.path(path)
	e.buf = append(e.buf, ',', '[')
	var err error
	for n, c := range captures {
		if n > 0 {
			e.buf = append(e.buf, ',')
		}
		if id, ok := e.imported(c); ok {
			e.reference("import", id)
		} else if err = e.export("export", c.dup()); err != nil {
			break
		}
	}
	e.buf = append(appendRaw(append(e.buf, "],"...), prog.instructions), ']', ']')
	var entry *importEntry
	var moved hook
	if err == nil {
		entry, moved, err = i.s.queuePush(i, &e, false)
	}
	if moved != nil {
		e.undo()
		return moved.remap(path, captures, prog)
	}
	disposeAll(captures)
	if err != nil {
		e.undo()
		return &errorHook{err}
	}
	i.s.sentWith(&e)
	return entry
}

func (i *importEntry) dup() hook {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	i.refs++
	return i
}

func (i *importEntry) pull(fn func(*payload, error)) {
	i.s.mu.Lock()
	if i.resolution != nil {
		i.s.mu.Unlock()
		through(i).pull(fn)
		return
	}
	if !i.promise {
		i.s.mu.Unlock()
		fn(nil, plainError("Tried to resolve a non-promise stub."))
		return
	}
	i.waiting = append(i.waiting, func(to hook) { to.pull(fn) })
	if !i.pulled {
		i.pulled = true
		b := make([]byte, 0, 20)
		b = strconv.AppendInt(append(b, `["pull",`...), i.id, 10)
		i.s.pushLocked(append(b, ']'))
	}
	i.s.mu.Unlock()
	i.s.flush()
}

func (i *importEntry) dispose() { disposeChain(i) }

// drop takes a holder away; with the last one what the entry stands for is to be disposed.
func (i *importEntry) drop() hook {
	i.s.mu.Lock()
	i.refs--
	if i.refs > 0 {
		i.s.mu.Unlock()
		return nil
	}
	r := i.resolution
	if r == nil {
		i.dropLocked()
		i.settleLocked(&errorHook{plainError(textCanceled)})
		return nil
	}
	i.s.mu.Unlock()
	i.s.flush()
	return r
}

// settle gives the entry its resolution, which it takes over.
func (i *importEntry) settle(to hook) {
	i.s.mu.Lock()
	if i.resolution != nil || i.refs <= 0 {
		i.s.mu.Unlock()
		to.dispose()
		return
	}
	i.dropLocked()
	broken := i.broken
	i.broken = nil
	i.settleLocked(to)
	for _, fn := range broken {
		to.onBroken(fn)
	}
}

// settleLocked sets the resolution, unlocks and runs what waited for it.
func (i *importEntry) settleLocked(to hook) {
	i.resolution = to
	waiting := i.waiting
	i.waiting = nil
	i.s.mu.Unlock()
	for _, fn := range waiting { // before the release leaves: somebody waits for these, nobody for that
		fn(to)
	}
	i.s.flush()
}

// fail breaks the entry when its session ends.
func (i *importEntry) fail(err error) {
	i.s.mu.Lock()
	if i.resolution != nil {
		i.s.mu.Unlock()
		return
	}
	broken := i.broken
	i.broken = nil
	i.settleLocked(&errorHook{err})
	for _, fn := range broken {
		fn(err)
	}
}

func (i *importEntry) onBroken(fn func(error)) {
	i.s.mu.Lock()
	r := i.resolution
	if r == nil {
		i.broken = append(i.broken, fn)
	}
	i.s.mu.Unlock()
	if r != nil {
		through(r).onBroken(fn)
	}
}

// importStub is what an ["export", id] of the peer stands for.
func (s *Session) importStub(id int64) (hook, error) {
	return s.introduce(id, false)
}

// importPromise is what a ["promise", id] of the peer stands for.
func (s *Session) importPromise(id int64) (hook, error) {
	return s.introduce(id, true)
}

func (s *Session) introduce(id int64, promise bool) (hook, error) {
	if id >= 0 {
		return nil, errBadId
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	if entry := s.imports[id]; entry != nil {
		if promise || entry.promise {
			return nil, errReused
		}
		entry.remote++
		entry.refs++
		return entry, nil
	}
	if len(s.imports) >= s.opts.MaxImports {
		return nil, errTooManyImports
	}
	entry := &importEntry{s: s, id: id, refs: 1, remote: 1, promise: promise, pulled: promise}
	s.imports[id] = entry
	return entry, nil
}
