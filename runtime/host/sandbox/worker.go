package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"toolshed/runtime/host/sandbox/clock"
	"toolshed/runtime/host/sandbox/image"
	"toolshed/runtime/host/sandbox/inbox"
	"toolshed/runtime/host/sandbox/modules"
	"toolshed/runtime/host/sandbox/overlay"
	"toolshed/runtime/host/wire"
)

// Times of an instance in the child.
const (
	restAfter     = 300 * time.Millisecond // idle this long, an instance drops its native stacks
	interruptTime = 100 * time.Millisecond // for telling the prelude about an interrupted turn
)

// Bounds of what the reader of the link does while more waits.
const (
	quickTime   = 100 * time.Microsecond // a turn that is shorter than waking a goroutine may be
	maxTogether = 4 << 10                // bytes of a frame that leaves with others
)

// silentBytes is how much an instance deals with before it tells the kernel so without another reason.
const silentBytes = 1 << 20

// worker runs one instance in the child: a goroutine of its own that owns the vm, and lends it to the reader of the link
// while it has nothing to do. Everything else reaches it through its inbox, answered and stop, none of which blocks.
type worker struct {
	box      *box
	id       uint32
	gadget   string
	files    map[string][]byte
	bindings []string
	limits   wire.Limits

	inbox   *inbox.Inbox
	alive   atomic.Pointer[vm] // for stop
	quick   atomic.Bool        // the last turn was
	answers chan []byte

	// Owned by the goroutine, and by whoever has borrowed the instance.
	vm       *vm
	over     overlay.Turn
	messages []string
	said     int
	dealt    int
	message  []byte // that the reader deals with
	more     bool   // more has begun to arrive behind that
	failed   error  // what the reader met
	wakeAt   time.Time
	armed    time.Time // when the goroutine looks by itself; zero: never
	lastTurn time.Time
	rested   bool // nothing was done since the native stacks were dropped
	gate     wire.LineGate
	starting bool
	logged   bool      // a line of this turn waits at the kernel
	untold   bool      // a turn has ended that the kernel was not told of
	key      image.Key // of the code
	again    bool      // it was started before
}

func newWorker(b *box, id uint32, body []byte) (*worker, error) {
	u := &wire.Unpacker{B: body}
	w := &worker{box: b, id: id, files: map[string][]byte{}, inbox: inbox.New(), answers: make(chan []byte, 1)}
	w.gadget = u.Text()
	w.limits = wire.Limits{Memory: u.Int(), Soft: time.Duration(u.Int()), Hard: time.Duration(u.Int())}
	for n := u.Count(); n > 0 && u.Err == nil; n-- {
		w.bindings = append(w.bindings, u.Text())
	}
	for n := u.Count(); n > 0 && u.Err == nil; n-- {
		name := u.Text()
		w.files[name] = u.Bytes()
	}
	return w, u.Err
}

func (w *worker) answered(body []byte) {
	select {
	case w.answers <- body:
	default: // nobody asked: the kernel does not do that
	}
}

// answerQuiet tells what is known only here. All turns have been sent before.
func (w *worker) answerQuiet(number, taken uint64) {
	quiet := w.wakeAt.IsZero() && !w.over.Open() && w.over.Empty() && len(w.messages) == 0
	w.emit(wire.Pack(wire.Rest, w.id).Uint(number).Bool(quiet).Uint(taken).Done())
}

// stop ends the instance from outside, at the guest's next tick at the latest.
func (w *worker) stop() {
	if !w.inbox.Stop() {
		return
	}
	if v := w.alive.Load(); v != nil {
		v.halt.CompareAndSwap(nil, wire.Fail(wire.KindClosed, "closed"))
	}
}

// run is the instance's life. Its end is told before its memory is given back, which takes long if there is much.
func (w *worker) run() {
	defer w.box.forget(w)
	defer func() {
		if w.vm != nil {
			w.vm.close()
		}
	}()
	err := w.live()
	var f *wire.Failure
	if !errors.As(err, &f) {
		f = wire.Fail(wire.KindTrap, err.Error())
	}
	if f.Kind != wire.KindClosed {
		w.box.out.PutSlow(wire.Pack(wire.Failed, w.id).Text(f.Kind).Text(wire.Clip(f.Message, wire.MaxLine)).Done(), maxQueued)
	}
}

// live starts the instance and runs its turns until it fails; the error is a *wire.Failure.
func (w *worker) live() (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = broken(x)
		}
	}()
	if err := w.make(); err != nil {
		return err
	}
	if err := w.boot(); err != nil {
		return err
	}
	if !modules.KeepFiles(w.files) {
		w.vm.files = nil
	}
	w.files = nil
	for {
		message, err := w.next()
		if err == nil {
			err = w.turn(message)
		}
		if err != nil {
			return err
		}
	}
}

// turn runs one turn of the guest: with a message, or with none because its wake-up time has come. An error ends the
// instance.
func (w *worker) turn(message []byte) error {
	w.vm.turn = clock.Begin(w.limits.Soft, w.limits.Hard)
	var err error
	if message == nil {
		w.emit(wire.Pack(wire.Woke, w.id).Done())
		err = w.enter(guestWake, 0)
	} else {
		w.dealt += len(message)
		err = w.deliver(string(message))
	}
	if err == nil {
		err = w.endTurn()
	}
	w.rested, w.lastTurn = false, time.Now()
	w.quick.Store(!w.vm.turn.Lasts(w.lastTurn.Add(clock.Brief - quickTime)))
	if err != nil {
		return w.vm.failure(err)
	}
	return nil
}

// borrow lets the reader of the link deal with a message, if nothing stands before it; more says that it has more to read.
// It is followed by inline and giveBack.
func (w *worker) borrow(message []byte, more bool) bool {
	if !w.inbox.Borrow() {
		return false
	}
	w.message, w.more = message, more
	return true
}

// inline runs the turn of a borrowed instance on the reader's goroutine.
func (w *worker) inline() {
	w.vm.lasts = w.box.giveAway
	defer func() {
		if x := recover(); x != nil {
			w.failed = broken(x)
		}
		w.vm.lasts, w.message = nil, nil
	}()
	w.failed = w.turn(w.message)
}

// giveBack ends the borrowing. The goroutine is woken if it must look earlier than it would.
func (w *worker) giveBack() {
	look := w.look(true)
	w.inbox.Return(w.failed != nil || w.armed.IsZero() && !look.IsZero() || look.Before(w.armed))
}

// look tells when the goroutine is to look by itself: to drop the native stacks, or at the wake-up time if the kernel is
// not too far behind; the zero time: never.
func (w *worker) look(free bool) (at time.Time) {
	if !w.rested {
		at = w.lastTurn.Add(restAfter)
	}
	if free && !w.wakeAt.IsZero() && (at.IsZero() || w.wakeAt.Before(at)) {
		at = w.wakeAt
	}
	return at
}

func broken(x any) error { return wire.Fail(wire.KindTrap, fmt.Sprint("the sandbox failed: ", x)) }

// emit sends a frame. What waits for room does not keep the reader of the link, which lets small ones leave together when
// it has read all there is.
func (w *worker) emit(frame []byte) {
	if w.vm.lasts == nil {
		w.box.out.PutSlow(frame, maxQueued)
		return
	}
	if w.more && len(frame) <= maxTogether {
		w.box.out.PutLazy(frame)
		return
	}
	if w.box.out.Put(frame) >= maxQueued {
		w.vm.lasting()
		w.box.out.Await(maxQueued)
	}
}

// make makes the vm, with the gadget's code evaluated in it if there is an image of that.
func (w *worker) make() error {
	e := w.box.engine
	var code *image.Image
	if e.codes != nil {
		w.key = e.codeKey(w.files, w.limits.Memory)
		code, w.again = e.codes.Take(w.key)
	}
	v, err := e.newVM(w, w.limits.Memory, code)
	if err != nil {
		return wire.Fail(wire.KindTrap, "the sandbox could not be made: "+err.Error())
	}
	v.files, v.workers = w.files, e.workers
	w.vm = v
	w.alive.Store(v)
	select {
	case <-w.inbox.Stopped():
		return wire.Fail(wire.KindClosed, "closed")
	default:
		return nil
	}
}

// next waits for a message or, with none, for the wake-up time, while the kernel is not too far behind.
func (w *worker) next() ([]byte, error) {
	for {
		todo := w.inbox.Take()
		if w.failed != nil {
			return nil, w.failed
		}
		if todo.Message != nil {
			return todo.Message, nil
		}
		if todo.Quiet != 0 {
			w.answerQuiet(todo.Quiet, todo.Taken)
		}
		now := time.Now()
		if todo.Free && !w.wakeAt.IsZero() && !now.Before(w.wakeAt) {
			w.wakeAt = time.Time{}
			return nil, nil
		}
		if !w.rested && now.Sub(w.lastTurn) >= restAfter {
			w.rest()
		}
		w.armed = w.look(todo.Free)
		if !w.inbox.Wait(w.armed) {
			return nil, wire.Fail(wire.KindClosed, "closed")
		}
	}
}

// rest gives back what an idle instance does without.
func (w *worker) rest() {
	w.rested = true
	w.vm.rest()
	w.box.freer.Soon()
	w.tellDropped()
	if w.untold {
		w.tellTurn()
	}
}

// boot evaluates the gadget's module, unless the vm was made from its image, and runs its constructor: the first turn.
func (w *worker) boot() error {
	v := w.vm
	if missing := modules.Missing(w.files); missing != "" {
		return wire.Fail(wire.KindNoGadget, missing)
	}
	source, err := modules.Source(w.files, "server.js")
	if err != nil {
		return wire.Fail(wire.KindSyntax, err.Error())
	}
	w.starting = true
	v.turn = clock.Begin(w.limits.Soft, w.limits.Hard)
	if v.code == nil {
		random := w.box.engine.randomState(v)
		if err := w.evaluate(source); err != nil {
			return err
		}
		if w.again { // an image costs several times what it saves one start
			err = w.box.engine.keepCode(v, w.key, random)
		}
		if err != nil {
			return w.startFailure(err)
		}
	}
	if err := w.construct(); err != nil {
		return err
	}
	v.learn(w.box.engine.image)
	return nil
}

// evaluate evaluates the gadget's module and gives it to the prelude.
func (w *worker) evaluate(source string) error {
	v := w.vm
	promise, err := v.eval(source, "server.js", evalModule)
	if err != nil {
		return w.startFailure(err)
	}
	if err := v.drain(); err != nil {
		return w.startFailure(err)
	}
	ns, err := w.settled(promise)
	if err != nil {
		return w.startFailure(err)
	}
	x, err := v.enter(guestBoot, ns)
	if err != nil {
		return w.startFailure(err)
	}
	if text, err := w.complaint(x); err != nil || text != "" {
		return w.refused(err, wire.KindNoGadget, text)
	}
	return nil
}

// construct makes the gadget.
func (w *worker) construct() error {
	v := w.vm
	spec, err := json.Marshal(map[string]any{"id": w.gadget, "bindings": append([]string{}, w.bindings...)})
	if err != nil {
		return err
	}
	arg, err := v.newString(string(spec))
	if err != nil {
		return w.startFailure(err)
	}
	x, err := v.enter(guestStart, arg)
	if err != nil {
		return w.startFailure(err)
	}
	if text, err := w.complaint(x); err != nil || text != "" {
		return w.refused(err, wire.KindStart, text)
	}
	if err := w.endTurn(); err != nil {
		return w.startFailure(err)
	}
	w.starting = false
	w.lastTurn = time.Now()
	w.emit(wire.Pack(wire.Ready, w.id).Done())
	return nil
}

// complaint takes what boot or start returned: a text says what is wrong, anything else that nothing is.
func (w *worker) complaint(x uint32) (string, error) {
	defer w.vm.free(x)
	is, err := w.vm.call32(fnIsString, uint64(x))
	if err != nil || is == 0 {
		return "", err
	}
	text, _, err := w.vm.text(x)
	return wire.Clip(text, wire.MaxLine), err
}

func (w *worker) refused(err error, kind, text string) error {
	if err != nil {
		return w.startFailure(err)
	}
	return wire.Fail(kind, text)
}

// settled returns the namespace that a module's promise gave.
func (w *worker) settled(promise uint32) (uint32, error) {
	state, err := w.vm.call32(fnPromiseState, uint64(promise))
	if err != nil {
		return 0, err
	}
	if state == 0 {
		return 0, wire.Fail(wire.KindStart, "server.js waits for something that never comes")
	}
	x, err := w.vm.call32(fnPromiseResult, uint64(promise))
	if err != nil {
		return 0, err
	}
	w.vm.free(promise)
	if state != 1 {
		defer w.vm.free(x)
		return 0, w.vm.describe(x)
	}
	return x, nil
}

// startFailure tells what kept a gadget from starting.
func (w *worker) startFailure(err error) error {
	var t *thrown
	if !errors.As(err, &t) {
		return w.vm.failure(err)
	}
	text := t.text
	if t.stack != "" {
		text += "\n" + strings.TrimRight(t.stack, "\n")
	}
	switch {
	case w.vm.turn.Interrupted:
		return wire.Fail(wire.KindCPU, "it took too long to start")
	case w.vm.importFailed || strings.HasPrefix(t.text, "SyntaxError"):
		return wire.Fail(wire.KindSyntax, text)
	}
	return wire.Fail(wire.KindStart, text)
}

func (w *worker) deliver(message string) error {
	arg, err := w.vm.newString(message)
	if err != nil {
		return err
	}
	return w.enter(guestDeliver, arg)
}

// enter calls a guest function. What it throws is a line on the console: the instance goes on.
func (w *worker) enter(fn int, arg uint32) error {
	x, err := w.vm.enter(fn, arg)
	var t *thrown
	switch {
	case errors.As(err, &t):
		w.unwound()
		if !t.uncatchable {
			return w.log("error", "Uncaught "+t.text)
		}
		return nil
	case err != nil:
		return err
	}
	w.vm.free(x)
	return nil
}

// endTurn runs what is pending and sends what the turn wrote and said.
func (w *worker) endTurn() error {
	if err := w.vm.drain(); err != nil {
		return err
	}
	if w.vm.turn.Interrupted {
		if err := w.interrupted(); err != nil {
			return err
		}
	}
	if w.over.Empty() && len(w.messages) == 0 && !w.logged && w.dealt < silentBytes {
		w.untold = true
		return nil // the next turn tells, or the next rest
	}
	w.tellTurn()
	return nil
}

// tellTurn sends what was written and said since the last time.
func (w *worker) tellTurn() {
	w.untold = false
	p := wire.Pack(wire.Turn, w.id).Uint(uint64(w.dealt))
	n := w.over.Pack(p) + w.said + len(w.messages)*wire.MessageCost
	p.Uint(uint64(len(w.messages)))
	for _, m := range w.messages {
		p.Text(m)
	}
	w.messages, w.said, w.dealt, w.logged = nil, 0, 0, false
	w.inbox.Told(n)
	w.emit(p.Done())
}

// interrupted tells the prelude that the turn was cut off, so that whoever waits for it hears of it.
func (w *worker) interrupted() error {
	v := w.vm
	if w.starting || v.ptrs.guest[guestInterrupted] == 0 {
		return wire.Fail(wire.KindCPU, v.turn.TooLong())
	}
	text := "the call was interrupted: " + v.turn.TooLong()
	if err := w.log("error", text); err != nil {
		return err
	}
	v.turn.Grant(interruptTime)
	arg, err := v.newString(text)
	if err != nil {
		return err
	}
	if err := w.enter(guestInterrupted, arg); err != nil {
		return err
	}
	return v.drain()
}
