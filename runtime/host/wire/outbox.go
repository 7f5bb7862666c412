package wire

import (
	"io"
	"sync"
	"time"
)

// Outbox writes frames in order from a goroutine of its own, so that nobody who sends waits for the other end.
type Outbox struct {
	w     io.Writer
	now   func([]byte) (rest []byte) // writes what can be written without waiting; nil: that is unknown
	mu    sync.Mutex
	room  *sync.Cond // signalled when something was written or the Outbox closed
	queue []letter
	bytes int  // queued or being written
	busy  bool // somebody is writing
	lazy  bool // all that is queued came from PutLazy
	timed bool // the timer for that is set
	wake  chan struct{}
	done  chan struct{} // closed by close or a failed write
	once  sync.Once
}

// letter is a frame, and what to do when it is about to be written; may be nil.
type letter struct {
	frame   []byte
	leaving func()
}

// NewOutbox returns an outbox that writes to w until Close or a failed write.
func NewOutbox(w io.Writer) *Outbox {
	o := &Outbox{w: w, now: writeNow(w), wake: make(chan struct{}, 1), done: make(chan struct{})}
	o.room = sync.NewCond(&o.mu)
	go o.run()
	return o
}

// Put queues a frame, never blocks, and returns how many bytes wait.
func (o *Outbox) Put(frame []byte) int { return o.PutThen(frame, nil) }

// PutThen is Put, and calls the function just before the frame is written. What the system takes at once is written by
// the caller, which saves waking the goroutine.
func (o *Outbox) PutThen(frame []byte, leaving func()) int {
	o.mu.Lock()
	if !o.busy && (len(o.queue) == 0 || o.lazy) && o.now != nil {
		b := o.takeLazyLocked()
		o.busy = true
		o.mu.Unlock()
		last := letter{frame, leaving}.open()
		if b != nil {
			last = append(b, last...)
		}
		rest := o.now(last)
		o.mu.Lock()
		o.busy = false
		if len(rest) == 0 && len(o.queue) == 0 {
			o.mu.Unlock()
			return 0
		}
		if len(rest) > 0 {
			o.queue = append([]letter{{frame: rest}}, o.queue...)
			o.bytes += len(rest)
		}
	} else {
		o.queue, o.lazy = append(o.queue, letter{frame, leaving}), false
		o.bytes += len(frame)
	}
	n := o.bytes
	o.mu.Unlock()
	Signal(o.wake)
	return n
}

// PutLazy is Put for a small frame that nobody waits for: it leaves with the next one, or after lazyTime.
func (o *Outbox) PutLazy(frame []byte) int {
	o.mu.Lock()
	if o.busy || len(o.queue) >= maxLazy || len(o.queue) > 0 && !o.lazy {
		o.mu.Unlock()
		return o.Put(frame)
	}
	o.queue, o.lazy = append(o.queue, letter{frame: frame}), true
	o.bytes += len(frame)
	n := o.bytes
	if !o.timed {
		o.timed = true
		time.AfterFunc(lazyTime, o.late)
	}
	o.mu.Unlock()
	return n
}

// Flush lets lazy frames leave.
func (o *Outbox) Flush() {
	o.mu.Lock()
	waiting := o.lazy && len(o.queue) > 0
	o.mu.Unlock()
	if waiting {
		o.Put(nil)
	}
}

// late lets lazy frames leave that no other has taken along.
func (o *Outbox) late() {
	o.mu.Lock()
	o.timed = false
	waiting := len(o.queue) > 0
	o.mu.Unlock()
	if waiting {
		Signal(o.wake)
	}
}

// takeLazyLocked takes the lazy frames out of the queue.
func (o *Outbox) takeLazyLocked() (b []byte) {
	for _, l := range o.queue {
		b = append(b, l.frame...)
	}
	o.bytes -= len(b)
	o.queue, o.lazy = o.queue[:0], false
	return b
}

// Bounds of PutLazy.
const (
	lazyTime = 5 * time.Millisecond
	maxLazy  = 64 // frames
)

// Signal wakes whoever waits on a channel of capacity one.
func Signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// PutSlow is for senders that may wait: it writes the frame itself if nothing is queued before it, and otherwise
// queues it, after waiting until less than limit bytes are queued or the Outbox is closed.
func (o *Outbox) PutSlow(frame []byte, limit int) {
	o.mu.Lock()
	o.awaitLocked(limit)
	if o.busy || len(o.queue) > 0 {
		o.mu.Unlock()
		o.Put(frame)
		return
	}
	o.busy = true
	o.mu.Unlock()
	if _, err := o.w.Write(frame); err != nil {
		o.Close()
	}
	o.rest()
}

// Await waits until less than limit bytes are queued or the Outbox is closed.
func (o *Outbox) Await(limit int) {
	o.mu.Lock()
	o.awaitLocked(limit)
	o.mu.Unlock()
}

func (o *Outbox) awaitLocked(limit int) {
	for o.bytes >= limit && !o.Closed() {
		o.room.Wait()
	}
}

// rest ends somebody's writing and lets the goroutine write what was queued meanwhile.
func (o *Outbox) rest() {
	o.mu.Lock()
	o.busy = false
	more := len(o.queue) > 0
	o.mu.Unlock()
	if more {
		Signal(o.wake)
	}
}

// Closed tells whether Close was called or a write failed.
func (o *Outbox) Closed() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// Close drops what is queued and lets nobody wait any more. It does not close the writer.
func (o *Outbox) Close() {
	o.once.Do(func() {
		close(o.done)
		o.mu.Lock()
		o.room.Broadcast()
		o.mu.Unlock()
	})
}

func (o *Outbox) run() {
	defer o.Close()
	for {
		select {
		case <-o.wake:
		case <-o.done:
			return
		}
		o.mu.Lock()
		if o.busy || len(o.queue) == 0 {
			o.mu.Unlock()
			continue // whoever is writing wakes us
		}
		queue := o.queue
		o.queue, o.lazy, o.busy = nil, false, true
		o.mu.Unlock()
		if !o.writeAll(queue) {
			return
		}
		o.rest()
	}
}

// writeAll writes frames, small ones together.
func (o *Outbox) writeAll(queue []letter) bool {
	for len(queue) > 0 {
		b := queue[0].open()
		queue[0] = letter{}
		queue = queue[1:]
		for len(queue) > 0 && len(b)+len(queue[0].frame) <= 64<<10 {
			b = append(b, queue[0].open()...)
			queue = queue[1:]
		}
		if _, err := o.w.Write(b); err != nil {
			return false
		}
		o.mu.Lock()
		o.bytes -= len(b)
		o.room.Broadcast()
		o.mu.Unlock()
	}
	return true
}

func (l letter) open() []byte {
	if l.leaving != nil {
		l.leaving()
	}
	return l.frame
}
