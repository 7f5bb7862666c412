package host

import (
	"context"

	"toolshed/runtime/host/wire"
)

// Quiet tells whether the instance could be ended without anybody noticing, apart from what its gadget keeps in memory: it
// has no timer and no open transaction, no call is on its way to it or from it, nobody holds anything of it but its
// main capability, it holds nothing of others but its bindings, and all that it wrote and said is where it belongs. The
// answer holds as long as nobody sends it anything; the caller sees to that.
//
// It asks the child, which knows of timers and waiting messages, and is false if ctx ends first. One call at a time.
func (i *Instance) Quiet(ctx context.Context) bool {
	if !i.atRest(false) {
		return false
	}
	i.mu.Lock()
	i.quietN++
	number := i.quietN
	answer := make(chan bool, 1)
	i.quiet = answer
	i.mu.Unlock()
	i.child.send(wire.Pack(wire.Quiet, i.id).Uint(number).Done())
	select {
	case quiet := <-answer:
		return quiet && i.atRest(true)
	case <-i.ended:
	case <-ctx.Done():
	}
	return false
}

// atRest is the kernel's part of Quiet. A session that waits for its next message has dealt with those before. What a
// child has said before it answered is dealt with.
func (i *Instance) atRest(answered bool) bool {
	s := i.session.Stats()
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.err == nil && i.started && i.receiving && len(i.inbox) == 0 && len(i.waiting) == 0 && (answered || len(i.frames) == 0 && !i.dealing) &&
		!i.asking && len(i.lines) == 0 && s.Exports == 1 && s.Imports == 1 && s.Calls == 0 && uint64(s.Sent) == i.sent
}

// rest takes the child's answer, which comes behind everything that it sent before; false if nobody asked.
func (i *Instance) rest(u *wire.Unpacker) bool {
	number, quiet, taken := u.Uint(), u.Bool(), u.Uint()
	i.mu.Lock()
	defer i.mu.Unlock()
	if number == 0 || number > i.quietN {
		return false
	}
	if quiet && taken == i.sent {
		i.undone = 0 // what it was sent and said nothing of is dealt with
	}
	if number == i.quietN && i.quiet != nil {
		i.quiet <- quiet && taken == i.sent
		i.quiet = nil
	}
	return true
}
