package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

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

	wakeup  chan struct{}
	answers chan []byte
	stopped chan struct{}

	// Owned by the goroutine.
	over     overlay
	messages []string
	said     int
	dealt    int
	wakeAt   time.Time
	gate     wire.LineGate
	starting bool
	logged   bool // a line of this turn waits at the kernel
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
	v, err := w.box.engine.newVM(w, w.limits.Memory)
	if err != nil {
		return wire.Fail(wire.KindTrap, "the sandbox could not be made: "+err.Error())
	}
	v.files, v.workers = w.files, w.box.engine.workers
	w.mu.Lock()
	w.vm = v
	stopping := w.stopping
	w.mu.Unlock()
	if stopping {
		return wire.Fail(wire.KindClosed, "closed")
	}
	if err := w.boot(); err != nil {
		return err
	}
	w.files, v.files = nil, nil
	for {
		message, timer, err := w.next()
		if err != nil {
			return err
		}
		v.begin(w.limits.Soft, w.limits.Hard)
		if timer {
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
			w.mu.Unlock()
			return message, false, nil
		}
		w.mu.Unlock()
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
			}
		}
		t.Stop()
	}
}

// boot evaluates the gadget's module and runs its constructor: the first turn.
func (w *worker) boot() error {
	v := w.vm
	source, ok := w.files["server.js"]
	if !ok {
		return wire.Fail(wire.KindNoGadget, "there is no server.js")
	}
	w.starting = true
	v.begin(w.limits.Soft, w.limits.Hard)
	promise, err := v.eval(string(source), "server.js", evalModule)
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
	spec, err := json.Marshal(map[string]any{"id": w.gadget, "bindings": append([]string{}, w.bindings...)})
	if err != nil {
		return err
	}
	arg, err := v.newString(string(spec))
	if err != nil {
		return w.startFailure(err)
	}
	if x, err = v.enter(guestStart, arg); err != nil {
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
	n := w.over.size + w.said + len(w.messages)*wire.MessageCost
	if w.over.empty() && len(w.messages) == 0 && !w.logged && w.dealt < silentBytes {
		return nil // the next turn tells
	}
	p := wire.Pack(wire.Turn, w.id).Uint(uint64(w.dealt)).Bool(w.over.cleared).Uint(uint64(len(w.over.order)))
	for _, key := range w.over.order {
		wr := w.over.writes[key]
		p.Text(key).Bool(wr.Delete).Bytes(wr.Value)
	}
	p.Uint(uint64(len(w.messages)))
	for _, m := range w.messages {
		p.Text(m)
	}
	w.over, w.messages, w.said, w.dealt, w.logged = overlay{}, nil, 0, 0, false
	w.mu.Lock()
	w.unacked += n
	w.unackedN++
	w.mu.Unlock()
	w.box.out.PutSlow(p.Done(), maxQueued)
	return nil
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
