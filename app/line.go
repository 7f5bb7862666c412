package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// Bounds on one connection of the window's page.
const (
	smallBatch   = 100 << 10        // bytes of a batch that goes through the window library's own messages
	maxAhead     = 256              // batches that may wait for an earlier one
	maxUnread    = 64 << 20         // bytes that came from the page and were not read yet
	maxUnsent    = 64 << 20         // bytes that the page has not taken yet
	pickUpWithin = 30 * time.Second // for a large batch that was announced
)

// line is one connection of the window's page as a capnweb.Transport: numbered batches of frames both ways. Batches that
// come are put in the order of their numbers; those that go are handed to emit as events, large ones as the address that the
// page fetches them from.
type line struct {
	emit func(event map[string]any) // called by one goroutine at a time, but for the event that the line is closed

	mu      sync.Mutex
	next    int              // the batch that is taken next
	ahead   map[int][]string // batches that came before their turn
	in      [][]byte
	unread  int // bytes in ahead and in
	arrived chan struct{}
	out     []string
	queued  int // bytes in out
	unsent  int // bytes in out and in large
	leaving chan struct{}
	room    chan struct{} // has a value when something unsent was taken
	sent    int
	large   map[string]largeBatch // announced and not picked up
	closed  chan struct{}
	once    sync.Once
}

type largeBatch struct {
	frames []string
	size   int
}

func newLine(emit func(event map[string]any)) *line {
	l := &line{emit: emit, next: 1, ahead: map[int][]string{}, arrived: make(chan struct{}, 1), leaving: make(chan struct{}, 1), room: make(chan struct{}, 1), large: map[string]largeBatch{}, closed: make(chan struct{})}
	go l.send()
	return l
}

// take puts a batch in its place. An error means that the page broke a bound; the line is then closed.
func (l *line) take(seq int, frames []string) error {
	err := l.place(seq, frames)
	if err != nil {
		l.Close(err)
	}
	return err
}

func (l *line) place(seq int, frames []string) error {
	size := 0
	for _, f := range frames {
		size += len(f)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, twice := l.ahead[seq]
	switch {
	case seq < l.next || twice:
		return fmt.Errorf("app: batch %d came twice", seq)
	case len(l.ahead) >= maxAhead:
		return errors.New("app: too many batches wait for an earlier one")
	case l.unread+size > maxUnread:
		return errors.New("app: the page sends faster than it is served")
	}
	l.unread += size
	l.ahead[seq] = frames
	for batch, ready := l.ahead[l.next]; ready; batch, ready = l.ahead[l.next] {
		delete(l.ahead, l.next)
		l.next++
		for _, f := range batch {
			l.in = append(l.in, []byte(f))
		}
	}
	signal(l.arrived)
	return nil
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Receive returns the next frame; io.EOF when the line is closed.
func (l *line) Receive(ctx context.Context) ([]byte, error) {
	for {
		l.mu.Lock()
		if len(l.in) > 0 {
			frame := l.in[0]
			l.in[0] = nil
			l.in = l.in[1:]
			l.unread -= len(frame)
			l.mu.Unlock()
			return frame, nil
		}
		l.mu.Unlock()
		select {
		case <-l.arrived:
		case <-l.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Send queues a frame for the page. While the page has more than maxUnsent bytes to take it waits; the line is closed if
// that takes too long.
func (l *line) Send(frame []byte) error {
	for {
		l.mu.Lock()
		if l.unsent == 0 || l.unsent+len(frame) <= maxUnsent {
			break
		}
		l.mu.Unlock()
		select {
		case <-l.room:
		case <-l.closed:
			return io.ErrClosedPipe
		}
	}
	defer l.mu.Unlock()
	select {
	case <-l.closed:
		return io.ErrClosedPipe
	default:
	}
	l.unsent += len(frame)
	l.queued += len(frame)
	l.out = append(l.out, string(frame))
	signal(l.leaving)
	return nil
}

// send hands what is queued to emit, one batch at a time.
func (l *line) send() {
	for {
		select {
		case <-l.leaving:
		case <-l.closed:
			return
		}
		if event := l.batch(); event != nil {
			l.emit(event)
		}
	}
}

// batch makes an event of everything that is queued, or nil of nothing.
func (l *line) batch() map[string]any {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.out) == 0 {
		return nil
	}
	frames, size := l.out, l.queued
	l.out, l.queued = nil, 0
	l.sent++
	event := map[string]any{"seq": l.sent}
	if size <= smallBatch {
		l.unsent -= size
		signal(l.room)
		event["frames"] = frames
		return event
	}
	id := strconv.Itoa(l.sent)
	l.large[id] = largeBatch{frames, size}
	event["fetch"] = "/pipe/" + id
	time.AfterFunc(pickUpWithin, func() { l.expire(id) })
	return event
}

// expire closes the line if a large batch was not fetched in time.
func (l *line) expire(id string) {
	l.mu.Lock()
	_, waiting := l.large[id]
	l.mu.Unlock()
	if waiting {
		l.Close(nil)
	}
}

// pickUp gives a large batch out, once.
func (l *line) pickUp(id string) ([]string, bool) {
	if l == nil {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	batch, found := l.large[id]
	delete(l.large, id)
	l.unsent -= batch.size
	signal(l.room)
	return batch.frames, found
}

// Close ends the line and tells the page, which opens another one. It may be called twice.
func (l *line) Close(error) {
	if l.end() {
		go l.emit(map[string]any{"closed": true})
	}
}

// end closes the line and says whether it was open.
func (l *line) end() (was bool) {
	l.once.Do(func() {
		close(l.closed)
		was = true
	})
	return was
}
