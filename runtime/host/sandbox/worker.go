package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"toolshed/runtime/host/sandbox/image"
	"toolshed/runtime/host/sandbox/modules"
	"toolshed/runtime/host/sandbox/overlay"
	"toolshed/runtime/host/wire"
)

// Times of an instance in the child.
const (
	restAfter     = 300 * time.Millisecond // idle this long, an instance drops its native stacks
	interruptTime = 100 * time.Millisecond // for telling the prelude about an interrupted turn
)

// silentBytes is how much an instance deals with before it tells the kernel so without another reason.
const silentBytes = 1 << 20

// worker runs one instance in the child: a goroutine of its own that owns the vm. Everything else reaches it through
// push, answered, acked and stop, none of which blocks.
type worker struct {
	box      *box
	id       uint32
	gadget   string
	files    map[string][]byte
	bindings []string
	limits   wire.Limits

	mu       sync.Mutex
	inbox    [][]byte
	unacked  int // bytes of turns that the kernel is not done with
	unackedN int
	vm       *vm
	stopping bool
	quiet    uint64 // the number of a wire.Quiet that waits for its answer; 0: none

	wakeup  chan struct{}
	answers chan []byte
	stopped chan struct{}

	// Owned by the goroutine.
	over     overlay.Turn
	messages []string
	said     int
	dealt    int
	taken    uint64 // messages, since the start
	wakeAt   time.Time
	gate     wire.LineGate
	starting bool
	logged   bool      // a line of this turn waits at the kernel
	untold   bool      // a turn has ended that the kernel was not told of
	key      image.Key // of the code
}

func newWorker(b *box, id uint32, body []byte) (*worker, error) {
	u := &wire.Unpacker{B: body}
	w := &worker{box: b, id: id, files: map[string][]byte{}, wakeup: make(chan struct{}, 1),
		answers: make(chan []byte, 1), stopped: make(chan struct{})}
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

func (w *worker) push(message []byte) {
	w.mu.Lock()
	w.inbox = append(w.inbox, message)
	w.mu.Unlock()
	wire.Signal(w.wakeup)
}

func (w *worker) answered(body []byte) {
	select {
	case w.answers <- body:
	default: // nobody asked: the kernel does not do that
	}
}

func (w *worker) acked(bytes, turns int) {
	w.mu.Lock()
	w.unacked -= bytes
	w.unackedN -= turns
	w.mu.Unlock()
	wire.Signal(w.wakeup)
}

// askedToRest lets the goroutine say, once it has nothing to do, whether the instance could be ended unnoticed.
func (w *worker) askedToRest(number uint64) {
	w.mu.Lock()
	w.quiet = number
	w.mu.Unlock()
	wire.Signal(w.wakeup)
}

// answerQuiet tells what is known only here. All turns have been sent before.
func (w *worker) answerQuiet(number uint64) {
	quiet := w.wakeAt.IsZero() && !w.over.Open() && w.over.Empty() && len(w.messages) == 0
	w.box.out.PutSlow(wire.Pack(wire.Rest, w.id).Uint(number).Bool(quiet).Uint(w.taken).Done(), maxQueued)
}

// stop ends the instance from outside, at the guest's next tick at the latest.
func (w *worker) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopping {
		return
	}
	w.stopping = true
	close(w.stopped)
	if w.vm != nil {
		w.vm.halt.CompareAndSwap(nil, wire.Fail(wire.KindClosed, "closed"))
	}
}

// run is the instance's life.
func (w *worker) run() {
	defer w.box.forget(w)
	err := w.live()
	if w.vm != nil {
		w.vm.close()
	}
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
			err = wire.Fail(wire.KindTrap, fmt.Sprint("the sandbox failed: ", x))
		}
	}()
	if err := w.make(); err != nil {
		return err
	}
	v := w.vm
	if err := w.boot(); err != nil {
		return err
	}
	if !modules.KeepFiles(w.files) {
		v.files = nil
	}
	w.files = nil
	for {
		message, timer, err := w.next()
		if err != nil {
			return err
		}
		v.begin(w.limits.Soft, w.limits.Hard)
		if timer {
			w.box.out.PutSlow(wire.Pack(wire.Woke, w.id).Done(), maxQueued)
			err = w.enter(guestWake, 0)
		} else {
			w.dealt += len(message)
			err = w.deliver(string(message))
		}
		if err == nil {
			err = w.endTurn()
		}
		if err != nil {
			return v.failure(err)
		}
	}
}

// make makes the vm, with the gadget's code evaluated in it if there is an image of that.
func (w *worker) make() error {
	e := w.box.engine
	var code *image.Image
	if e.codes != nil {
		w.key = e.codeKey(w.files, w.limits.Memory)
		code = e.codes.Take(w.key)
	}
	v, err := e.newVM(w, w.limits.Memory, code)
	if err != nil {
		return wire.Fail(wire.KindTrap, "the sandbox could not be made: "+err.Error())
	}
	v.files, v.workers = w.files, e.workers
	w.mu.Lock()
	w.vm = v
	stopping := w.stopping
	w.mu.Unlock()
	if stopping {
		return wire.Fail(wire.KindClosed, "closed")
	}
	return nil
}

// next waits for a message or for the wake-up time, while the kernel is not too far behind.
func (w *worker) next() (message []byte, timer bool, err error) {
	rested := false
	for {
		w.mu.Lock()
		free := w.unacked < wire.MaxUnacked && w.unackedN < wire.MaxUnackedN
		if free && len(w.inbox) > 0 {
			message = w.inbox[0]
			w.inbox[0] = nil
			if w.inbox = w.inbox[1:]; len(w.inbox) == 0 {
				w.inbox = nil
			}
			w.taken++
			w.mu.Unlock()
			return message, false, nil
		}
		asked := w.quiet
		w.quiet = 0
		w.mu.Unlock()
		if asked != 0 {
			w.answerQuiet(asked)
		}
		wait := time.Duration(math.MaxInt64)
		if !rested {
			wait = restAfter
		}
		if free && !w.wakeAt.IsZero() {
			due := time.Until(w.wakeAt)
			if due <= 0 {
				w.wakeAt = time.Time{}
				return nil, true, nil
			}
			wait = min(wait, due)
		}
		t := time.NewTimer(wait)
		select {
		case <-w.wakeup:
		case <-w.stopped:
			t.Stop()
			return nil, false, wire.Fail(wire.KindClosed, "closed")
		case <-t.C:
			if !rested && wait == restAfter {
				rested = true
				w.vm.rest()
				w.box.rested()
				w.tellDropped()
				if w.untold {
					w.tellTurn()
				}
			}
		}
		t.Stop()
	}
}

// boot evaluates the gadget's module, unless the vm was made from its image, and runs its constructor: the first turn.
func (w *worker) boot() error {
	v := w.vm
	if _, ok := w.files["server.js"]; !ok {
		if _, ok := w.files["server.wasm"]; ok {
			return wire.Fail(wire.KindNoGadget, "server.wasm comes with a later version of Toolshed: write server.js meanwhile")
		}
		return wire.Fail(wire.KindNoGadget, "there is no server.js")
	}
	source, err := modules.Source(w.files, "server.js")
	if err != nil {
		return wire.Fail(wire.KindSyntax, err.Error())
	}
	w.starting = true
	v.begin(w.limits.Soft, w.limits.Hard)
	if v.code == nil {
		random := w.box.engine.randomState(v)
		if err := w.evaluate(source); err != nil {
			return err
		}
		if err := w.box.engine.evaluated(v, w.key, random); err != nil {
			return w.startFailure(err)
		}
	}
	return w.construct()
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
	w.box.out.PutSlow(wire.Pack(wire.Ready, w.id).Done(), maxQueued)
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
	case w.vm.turn.interrupted:
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
	if w.vm.turn.interrupted {
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
	w.mu.Lock()
	w.unacked += n
	w.unackedN++
	w.mu.Unlock()
	w.box.out.PutSlow(p.Done(), maxQueued)
}

// interrupted tells the prelude that the turn was cut off, so that whoever waits for it hears of it.
func (w *worker) interrupted() error {
	v := w.vm
	if w.starting || v.ptrs.guest[guestInterrupted] == 0 {
		return wire.Fail(wire.KindCPU, v.turn.tooLong())
	}
	text := "the call was interrupted: " + v.turn.tooLong()
	if err := w.log("error", text); err != nil {
		return err
	}
	v.turn.soft, v.turn.interrupted = time.Now().Add(interruptTime), false
	arg, err := v.newString(text)
	if err != nil {
		return err
	}
	if err := w.enter(guestInterrupted, arg); err != nil {
		return err
	}
	return v.drain()
}
