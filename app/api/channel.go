package api

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
)

// Bounds on what has arrived for a channel and was not read yet.
const (
	maxQueued      = 16_384   // messages
	maxQueuedBytes = 64 << 20 // bytes
)

// channel is one session's share of a page's pipe, as a capnweb.Transport.
type channel struct {
	connection *connection
	number     int
	prefix     []byte

	mu     sync.Mutex
	queue  [][]byte
	bytes  int
	ready  chan struct{} // has a value when queue is not empty
	closed chan struct{}
	once   sync.Once

	// What waits to be sent; guarded by the connection's outbox.
	out    [][]byte
	unsent int
	ended  bool
}

func newChannel(c *connection, number int) *channel {
	return &channel{connection: c, number: number, prefix: []byte(strconv.Itoa(number) + ":"), ready: make(chan struct{}, 1), closed: make(chan struct{})}
}

// deliver queues a message for Receive. It fails, without waiting, when the bounds are passed.
func (ch *channel) deliver(message []byte) error {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if len(ch.queue) >= maxQueued || ch.bytes+len(message) > maxQueuedBytes {
		return errors.New("api: the page sends faster than it is served")
	}
	ch.queue = append(ch.queue, message)
	ch.bytes += len(message)
	select {
	case ch.ready <- struct{}{}:
	default:
	}
	return nil
}

// Send queues a message for the page. It never waits; a page that does not take what it is sent loses the channel.
func (ch *channel) Send(message []byte) error {
	return ch.connection.box.put(ch, append(append(make([]byte, 0, len(ch.prefix)+len(message)), ch.prefix...), message...))
}

// Receive returns the next message; io.EOF when the channel is closed.
func (ch *channel) Receive(ctx context.Context) ([]byte, error) {
	for {
		ch.mu.Lock()
		if len(ch.queue) > 0 {
			message := ch.queue[0]
			ch.queue[0] = nil
			ch.queue = ch.queue[1:]
			ch.bytes -= len(message)
			ch.mu.Unlock()
			return message, nil
		}
		ch.mu.Unlock()
		select {
		case <-ch.ready:
		case <-ch.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close closes the channel and tells the page so. It may be called twice.
func (ch *channel) Close(error) {
	ch.once.Do(func() {
		close(ch.closed)
		ch.connection.forget(ch.number)
		ch.connection.box.end(ch, ch.prefix)
	})
}
