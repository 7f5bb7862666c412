package host

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"toolshed/runtime/capnweb"
	"toolshed/runtime/host/wire"
	"toolshed/runtime/storage"
)

// Bounds of what the kernel keeps for one instance, above what an honest child can reach.
const (
	maxHeld    = wire.MaxUnacked + 2*wire.MaxTurn // bytes of frames not dealt with, of messages, and of writes
	maxUnsaved = 5 * wire.MaxWrites               // writes that wait for their commit
	maxLines   = 1000                             // console lines that wait for their turn
)

// closeGrace is how long the turns of an ended instance may take to become durable; what is not on its way then is
// dropped. No message of such a turn ever left.
const closeGrace = time.Second

// untrusted are the bounds of a session with a guest: one that holds 4,096 capabilities, or what makes up the largest
// message, has enough for anything but an attack.
var untrusted = capnweb.Options{MaxMessage: wire.MaxMessage, MaxDepth: 256, MaxExports: 1 << 12, MaxImports: 1 << 12,
	MaxCalls: 1 << 12, MaxHeld: 64 << 20}

// Instance is one running gadget.
type Instance struct {
	child   *Child
	id      uint32
	spec    Spec
	session *capnweb.Session
	ready   chan struct{} // closed once started
	ended   chan struct{} // closed by end
	hurry   chan struct{} // closed a grace after end
	done    chan struct{} // closed when all is released

	mu        sync.Mutex
	frames    []wire.Frame // taken, not dealt with
	held      int          // their bytes
	dealing   bool         // run or take is dealing with some
	reading   bool         // take is
	direct    [][]byte     // messages that take is to deal with in place of the session's goroutine
	work      chan struct{}
	err       *Failure
	waiting   []release // turns that wait for their commit, in order
	inbox     [][]byte  // messages released to the session
	unread    int       // bytes of the messages in waiting and inbox
	unsaved   int       // bytes of the writes in waiting, with their cost
	unsavedN  int
	asking    bool   // an answer has not left yet
	lines     []Line // of the turn that the child is in
	linesN    int    // of these and of the turns in waiting
	arrived   chan struct{}
	acked     int // bytes of turns the session took since the last ack
	ackedN    int // the same in turns
	started   bool
	ringing   ringing
	sent      uint64        // messages to the guest
	woken     bool          // a turn runs that no message began
	quietN    uint64        // the last number of a wire.Quiet
	quiet     chan<- bool   // gets the answer to that
	receiving bool          // the session's goroutine waits for a message
	handling  bool          // take deals with messages in its place
	undone    int           // bytes of messages that the guest has not dealt with
	gate      wire.LineGate // of run
	telling   sync.Mutex    // held while Console is called
	releaser  sync.WaitGroup
}

// release is a turn on its way to the session.
type release struct {
	commit   *storage.Commit
	messages [][]byte
	written  int // bytes of keys and values, with their cost
	writtenN int
	lines    []Line
	reader   bool     // it comes straight from the reader of the link
	ready    bool     // the start turn has been sent before this
	failure  *Failure // the instance ended after the turns before this
}

// Start starts an instance and returns when its constructor has run. The error is a *Failure; a cancelled context gives the kind
// "closed".
func (c *Child) Start(ctx context.Context, spec Spec) (*Instance, error) {
	i := c.newInstance(spec)
	o := untrusted
	o.OnSendError = i.spec.sendError
	o.Name = spec.ID
	i.session = capnweb.NewSession(transport{i}, spec.Env, &o)
	go i.watchSession()
	if err := i.start(ctx); err != nil {
		i.session.Close()
		return nil, err
	}
	return i, nil
}

func (c *Child) newInstance(spec Spec) *Instance {
	spec.Limits = withDefaults(spec.Limits)
	return &Instance{child: c, spec: spec, ready: make(chan struct{}), ended: make(chan struct{}),
		hurry: make(chan struct{}), done: make(chan struct{}), work: make(chan struct{}, 1), arrived: make(chan struct{}, 1)}
}

// start sends the spec and waits for the outcome.
func (i *Instance) start(ctx context.Context) error {
	c := i.child
	c.mu.Lock()
	gone := c.err != nil
	if !gone {
		c.next++
		i.id = c.next
		c.instances[i.id] = i
	}
	c.mu.Unlock()
	go i.run()
	if gone {
		i.end(wire.Fail(KindChild, "the gadget host is gone"))
		<-i.done
		return i.failure()
	}
	p := wire.Pack(wire.Start, i.id).Text(i.spec.ID).Int(i.spec.Limits.Memory).
		Int(int64(i.spec.Limits.Soft)).Int(int64(i.spec.Limits.Hard)).Uint(uint64(len(i.spec.Bindings)))
	for _, name := range i.spec.Bindings {
		p.Text(name)
	}
	p.Uint(uint64(len(i.spec.Files)))
	for name, b := range i.spec.Files {
		p.Text(name).Bytes(b)
	}
	if len(p.B) > wire.MaxFrame {
		i.end(wire.Fail(KindSyntax, "the gadget's server code is too large"))
	} else {
		c.send(p.Done())
	}
	select {
	case <-i.ready:
		return nil
	case <-ctx.Done():
		i.end(wire.Fail(KindClosed, ctx.Err().Error()))
	case <-i.ended:
	}
	<-i.done
	return i.failure()
}

// Main returns the session's stub of the gadget. The caller owns it as capnweb.Session.Main says.
func (i *Instance) Main() *capnweb.Stub { return i.session.Main() }

// Done is closed when the instance has ended and its storage is no longer used.
func (i *Instance) Done() <-chan struct{} { return i.done }

// Err returns the *Failure that ended the instance, nil while it runs.
func (i *Instance) Err() error {
	if f := i.failure(); f != nil {
		return f
	}
	return nil
}

func (i *Instance) failure() *Failure {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.err
}

// Close ends the instance with the kind "closed" and waits until its storage is no longer used; it may be called from
// a method of the session. Turns that were applied before are still committed, but those that are not on their way to
// the disk after a second are dropped: nobody was told of them.
func (i *Instance) Close() {
	i.end(wire.Fail(KindClosed, "the gadget was closed"))
	<-i.done
}

// end ends the instance, once.
func (i *Instance) end(why *Failure) {
	i.mu.Lock()
	if i.err != nil {
		i.mu.Unlock()
		return
	}
	if why.Kind == KindChild && (!i.started || i.woken || i.asking || i.undone > 0) {
		suspect := *why
		suspect.Suspect = true
		why = &suspect
	}
	i.err = why
	i.frames = slices.DeleteFunc(i.frames, func(f wire.Frame) bool { return f.Kind != wire.Log })
	i.held = 0
	i.mu.Unlock()
	close(i.ended)
	time.AfterFunc(closeGrace, func() { close(i.hurry) })
	c := i.child
	c.mu.Lock()
	_, known := c.instances[i.id]
	delete(c.instances, i.id)
	alive := c.err == nil
	c.mu.Unlock()
	if known && alive {
		c.send(wire.Pack(wire.Stop, i.id).Done())
	}
}

// watchSession ends the instance when its session ends: the guest broke the protocol or its bounds. When the instance
// ends first, its session ends by itself, with the reason: Receive gives it.
func (i *Instance) watchSession() {
	select {
	case <-i.session.Done():
		text := "the session ended"
		if err := i.session.Err(); err != nil {
			text = err.Error()
		}
		i.end(wire.Fail(KindProtocol, text))
	case <-i.ended:
		select {
		case <-i.session.Done():
		case <-time.After(time.Second):
			i.session.Close()
		}
	}
}

// take takes a frame from the child; only the callbacks of an answer can block it, and it is called again meanwhile. A
// turn without writes and lines that has nothing before it is dealt with at once, anything else by run.
func (i *Instance) take(f wire.Frame) {
	i.mu.Lock()
	if i.err != nil {
		i.mu.Unlock()
		return
	}
	if !i.dealing && len(i.frames) == 0 && len(i.lines) == 0 && f.Kind == wire.Turn && !writes(f.Body) {
		i.dealing, i.reading = true, true
		i.mu.Unlock()
		i.dealOrEnd(f)
		i.mu.Lock()
		i.dealing, i.reading = false, false
		direct, more := i.direct, len(i.frames) > 0
		i.direct = nil
		i.mu.Unlock()
		if more {
			wire.Signal(i.work)
		}
		if direct != nil {
			i.handle(direct)
		}
		return
	}
	i.frames = append(i.frames, f)
	i.held += len(f.Body) + wire.Head
	over := i.held > maxHeld || len(i.frames) > wire.MaxHeldN
	if f.Kind == wire.Ask {
		over, i.asking = over || i.asking, true
	}
	i.mu.Unlock()
	if over {
		i.end(wire.Fail(KindProtocol, "the gadget said more than it may"))
		return
	}
	wire.Signal(i.work)
}

// writes tells whether a turn changes the storage; a malformed one does.
func writes(turn []byte) bool {
	u := wire.Unpacker{B: turn}
	u.Uint()
	return u.Bool() || wire.UnpackAlarm(&u) != nil || u.Count() != 0 || u.Err != nil
}

// run deals with the instance's frames in order.
func (i *Instance) run() {
	defer func() {
		i.releaser.Wait()
		i.flush()
		close(i.done)
	}()
	for {
		select {
		case <-i.work:
		case <-i.ended:
			return
		}
		i.mu.Lock()
		if i.dealing { // take signals when it is through
			i.mu.Unlock()
			continue
		}
		frames := i.frames
		i.frames, i.held, i.dealing = nil, 0, true
		i.mu.Unlock()
		for n, f := range frames {
			if i.failure() != nil || !i.dealOrEnd(f) {
				i.mu.Lock()
				i.frames = append(frames[n:], i.frames...)
				i.mu.Unlock()
				return
			}
		}
		i.mu.Lock()
		i.dealing = false
		i.mu.Unlock()
	}
}

func (i *Instance) dealOrEnd(f wire.Frame) bool {
	ok := i.deal(f)
	if !ok {
		i.end(wire.Fail(KindProtocol, "the gadget host sent what it may not"))
	}
	return ok
}

// deal handles one frame; false if it breaks the protocol.
func (i *Instance) deal(f wire.Frame) bool {
	u := &wire.Unpacker{B: f.Body}
	switch f.Kind {
	case wire.Turn:
		return i.turn(u)
	case wire.Ask:
		return i.answer(u)
	case wire.Log:
		i.log(u)
	case wire.Woke:
		i.mu.Lock()
		i.woken = true
		i.mu.Unlock()
	case wire.Rest:
		return i.rest(u) && u.End()
	case wire.Ready:
		i.pass(release{ready: true})
	case wire.Failed:
		kind, text := u.Text(), wire.Clip(u.Text(), wire.MaxLine)
		switch kind {
		case KindSyntax, KindNoGadget, KindStart, KindCPU, KindMemory, KindStack, KindProtocol, KindTrap:
		default:
			return false
		}
		i.pass(release{failure: wire.Fail(kind, text), lines: i.takeLines()})
	default:
		return false
	}
	return u.End()
}

// turn applies a turn's writes at once and passes its messages and lines on.
func (i *Instance) turn(u *wire.Unpacker) bool {
	dealt := int(min(u.Uint(), wire.MaxBacklog))
	t, r, ok := unpackTurn(u)
	if !ok {
		return false
	}
	size := 0
	for _, m := range r.messages {
		size += len(m) + wire.MessageCost
	}
	i.mu.Lock()
	i.undone = max(0, i.undone-dealt)
	i.woken = false
	i.unread += size
	i.unsaved += r.written
	i.unsavedN += r.writtenN
	over := i.unread > maxHeld || i.unsaved > maxHeld || i.unsavedN > maxUnsaved || len(i.waiting) > wire.MaxHeldN
	i.mu.Unlock()
	if over {
		return false
	}
	r.lines = i.takeLines()
	if t.Clear || len(t.Writes) > 0 || t.Alarm != nil {
		r.commit = i.apply(t)
		if answersEarly {
			r.commit = nil
		}
	}
	i.pass(r)
	return true
}

// unpackTurn reads what a turn wrote and said. No count is believed, and nothing small keeps the frame in memory.
func unpackTurn(u *wire.Unpacker) (t storage.Turn, r release, ok bool) {
	whole := len(u.B)
	t.Clear = u.Bool()
	if at := wire.UnpackAlarm(u); at != nil {
		t.Alarm = &storage.Alarm{Time: *at, Due: *at}
	}
	for n := u.CountOf(3, wire.MaxWrites); n > 0; n-- {
		w := storage.Write{Key: u.Text(), Delete: u.Bool()}
		w.Value = bytes.Clone(u.Bytes())
		t.Writes = append(t.Writes, w)
		if r.written += len(w.Key) + len(w.Value) + wire.WriteCost; r.written > wire.MaxTurn || u.Err != nil {
			return t, r, false
		}
	}
	r.writtenN = len(t.Writes)
	size := r.written
	for n := u.CountOf(1, wire.MaxMessages); n > 0; n-- {
		m := u.Bytes()
		if size += len(m); len(m) > wire.MaxMessage || size > wire.MaxTurn || u.Err != nil {
			return t, r, false
		}
		if 2*len(m) < whole {
			m = bytes.Clone(m)
		}
		r.messages = append(r.messages, m)
	}
	return t, r, u.End()
}

// pass releases what needs no commit and has nothing before it at once, and the rest in order.
func (i *Instance) pass(r release) {
	i.mu.Lock()
	if r.commit == nil && len(i.waiting) == 0 {
		r.reader = i.reading
		i.mu.Unlock()
		i.release(r)
		return
	}
	i.waiting = append(i.waiting, r)
	first := len(i.waiting) == 1
	i.mu.Unlock()
	if first {
		i.releaser.Add(1)
		go i.releaseWaiting()
	}
}

// releaseWaiting waits for the commits in order. A turn stays in the queue until it is released, so that none can
// overtake it. The commits are waited for even when the instance has ended: they were applied. Lines of a turn that is
// lost come when the instance is known to have failed.
func (i *Instance) releaseWaiting() {
	defer i.releaser.Done()
	for {
		i.mu.Lock()
		r := i.waiting[0]
		i.mu.Unlock()
		if r.commit != nil {
			if err := i.await(r.commit); err != nil {
				i.end(unsaved(err))
			}
		}
		if i.failure() == nil {
			i.release(r)
		} else {
			i.tell(r.lines)
		}
		i.mu.Lock()
		i.unsaved -= r.written
		i.unsavedN -= r.writtenN
		i.waiting[0] = release{}
		i.waiting = i.waiting[1:]
		rest := len(i.waiting)
		i.mu.Unlock()
		if rest == 0 {
			return
		}
	}
}

// unsaved is the end of an instance whose turn could not be saved.
func unsaved(err error) *Failure {
	if errors.Is(err, storage.ErrQuota) {
		return wire.Fail(KindQuota, "its storage limit is reached: what its last call wrote was not kept, and what was there before is")
	}
	return wire.Fail(KindStorage, "its data could not be saved: "+err.Error())
}

// await waits for a commit, and after the instance's end and a grace drops what is not on its way to the disk.
func (i *Instance) await(c *storage.Commit) error {
	select {
	case <-c.Done():
	case <-i.hurry:
		c.Drop()
	}
	return c.Wait(context.Background())
}

func (i *Instance) release(r release) {
	switch {
	case r.failure != nil:
		i.end(r.failure)
		i.tell(r.lines)
	case r.ready:
		i.mu.Lock()
		again := i.started
		i.started = true
		i.mu.Unlock()
		if !again {
			close(i.ready)
		}
	default:
		i.tell(r.lines)
		i.mu.Lock()
		i.ackLocked(r.written, 1)
		direct := r.reader && len(r.messages) > 0 && i.receiving && len(i.inbox) == 0 && onlyAnswers(r.messages)
		if direct {
			i.direct, i.receiving, i.handling = r.messages, false, true
		} else {
			i.inbox = append(i.inbox, r.messages...)
		}
		i.mu.Unlock()
		if !direct && len(r.messages) > 0 {
			wire.Signal(i.arrived)
		}
	}
}

// onlyAnswers tells whether messages only settle calls of the kernel. Anything else may enter methods, which take long.
func onlyAnswers(messages [][]byte) bool {
	for _, m := range messages {
		if !bytes.HasPrefix(m, []byte(`["resolve",`)) && !bytes.HasPrefix(m, []byte(`["reject",`)) {
			return false
		}
	}
	return true
}

// handle deals with messages in place of the session's goroutine, which waits and gets nothing meanwhile: to wake it would
// cost more.
func (i *Instance) handle(messages [][]byte) {
	i.mu.Lock()
	for _, m := range messages {
		i.unread -= len(m) + wire.MessageCost
		i.ackLocked(len(m)+wire.MessageCost, 0)
	}
	i.mu.Unlock()
	for _, m := range messages {
		if !i.session.Handle(m) {
			break // Receive tells why, or nobody asks any more
		}
	}
	i.mu.Lock()
	i.receiving, i.handling = i.err == nil, false
	more := len(i.inbox) > 0
	i.mu.Unlock()
	if more {
		wire.Signal(i.arrived)
	}
}

// ackLocked tells the child now and then what the session took.
func (i *Instance) ackLocked(bytes, turns int) {
	i.acked += bytes
	i.ackedN += turns
	if i.acked < wire.MaxUnacked/16 && i.ackedN < wire.MaxUnackedN/8 {
		return
	}
	i.child.send(wire.Pack(wire.Ack, i.id).Uint(uint64(i.acked)).Uint(uint64(i.ackedN)).Done())
	i.acked, i.ackedN = 0, 0
}
