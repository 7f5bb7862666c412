package host

import (
	"bytes"
	"context"
	"errors"
	"io"

	"toolshed/runtime/host/wire"
)

// transport is an Instance as its Cap'n Web session sees it.
type transport struct{ i *Instance }

// Send implements capnweb.Transport.
func (t transport) Send(msg []byte) error {
	i := t.i
	i.mu.Lock()
	if i.err != nil {
		defer i.mu.Unlock()
		return i.err
	}
	i.undone += len(msg)
	i.sent++
	over := i.undone > wire.MaxBacklog || len(msg) > wire.MaxMessage
	i.mu.Unlock()
	if over {
		i.end(wire.Fail(KindProtocol, "the gadget does not keep up with what it is sent"))
		return i.failure()
	}
	p := wire.Pack(wire.Deliver, i.id)
	p.B = append(p.B, msg...)
	if bytes.HasPrefix(msg, []byte(`["release",`)) { // only the guest's memory waits for it
		i.child.sent(i.child.out.PutLazy(p.Done()))
	} else {
		i.child.send(p.Done())
	}
	return nil
}

// Receive implements capnweb.Transport.
func (t transport) Receive(ctx context.Context) ([]byte, error) {
	i := t.i
	for {
		i.mu.Lock()
		if len(i.inbox) > 0 && !i.handling {
			m := i.inbox[0]
			i.inbox[0] = nil
			i.inbox = i.inbox[1:]
			if len(i.inbox) == 0 {
				i.inbox = nil
			}
			i.receiving = false
			i.unread -= len(m) + wire.MessageCost
			i.ackLocked(len(m)+wire.MessageCost, 0)
			i.mu.Unlock()
			return m, nil
		}
		err := i.err
		i.receiving = err == nil && !i.handling
		i.mu.Unlock()
		if err != nil {
			if err.Kind == KindClosed {
				return nil, io.EOF
			}
			return nil, err
		}
		select {
		case <-i.arrived:
		case <-i.ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close implements capnweb.Transport: the end of the session is the end of the instance.
func (t transport) Close(reason error) {
	i := t.i
	var f *Failure
	switch {
	case errors.As(reason, &f):
		i.end(f)
	case reason == nil || errors.Is(reason, io.EOF):
		i.end(wire.Fail(KindClosed, "the gadget's session was closed"))
	default:
		i.end(wire.Fail(KindProtocol, reason.Error()))
	}
}
