package api

import (
	"context"
	"errors"
	"io"
	"sync"
)

// Bounds on what waits to be sent to one page.
const (
	maxUnsent    = 64 << 20  // bytes of one channel: two of the largest messages
	maxUnsentAll = 256 << 20 // bytes of all channels; the shell's may go beyond it
)

// errUnsent means that a page does not take what one of its channels is sent.
var errUnsent = errors.New("api: the page does not take what this channel is sent")

// outbox is what waits to be sent to one page: a queue for each channel. Channels are served in turn, so that a view that is
// sent more than its page takes loses its own channel and holds up no other.
type outbox struct {
	mu    sync.Mutex
	turns []*channel // those with something queued
	bytes int
	ready chan struct{}
}

func newOutbox() *outbox { return &outbox{ready: make(chan struct{}, 1)} }

// put queues a frame of a channel; it never waits. When a bound is passed the channel's whole queue is dropped and the
// channel is of no more use.
func (o *outbox) put(ch *channel, frame []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ch.ended {
		return io.ErrClosedPipe
	}
	full := ch.unsent+len(frame) > maxUnsent || ch.number != 0 && o.bytes+len(frame) > maxUnsentAll
	if full {
		o.dropLocked(ch)
		ch.ended = true
		return errUnsent
	}
	o.addLocked(ch, frame)
	return nil
}

// end queues a channel's last frame, whatever the bounds.
func (o *outbox) end(ch *channel, frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ch.ended = true
	o.addLocked(ch, frame)
}

func (o *outbox) addLocked(ch *channel, frame []byte) {
	if len(ch.out) == 0 {
		o.turns = append(o.turns, ch)
	}
	ch.out = append(ch.out, frame)
	ch.unsent += len(frame)
	o.bytes += len(frame)
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

func (o *outbox) dropLocked(ch *channel) {
	o.bytes -= ch.unsent
	ch.out, ch.unsent = nil, 0
	for i, c := range o.turns {
		if c == ch {
			o.turns = append(o.turns[:i], o.turns[i+1:]...)
			return
		}
	}
}

// next waits for a frame and takes it, the channels in turn.
func (o *outbox) next(ctx context.Context) ([]byte, error) {
	for {
		if frame := o.take(); frame != nil {
			return frame, nil
		}
		select {
		case <-o.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (o *outbox) take() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.turns) == 0 {
		return nil
	}
	ch := o.turns[0]
	o.turns = o.turns[1:]
	frame := ch.out[0]
	ch.out[0] = nil
	ch.out = ch.out[1:]
	ch.unsent -= len(frame)
	o.bytes -= len(frame)
	if len(ch.out) > 0 {
		o.turns = append(o.turns, ch)
	}
	return frame
}
