package capnweb

import (
	"context"
	"sync"
	"sync/atomic"
)

// Sink receives the chunks of a Writer, one call at a time, in order. Stubs in a chunk are
// the sink's. Abort may come instead of Close.
type Sink interface {
	Write(ctx context.Context, chunk any) error
	Close(ctx context.Context) error
	Abort(reason error)
}

// Writer is a WritableStream, local or of a peer. Write waits while more than 256 KiB are on
// their way; its error may belong to an earlier chunk. One writer at a time.
type Writer struct {
	h hook

	mu      sync.Mutex
	flight  int
	failed  error
	ended   bool
	freed   bool
	changed chan struct{}
}

// NewWriter makes a Writer of a sink, to be handed to a peer.
func NewWriter(sink Sink) *Writer {
	return newWriter(newSinkHook(sink, context.Background(), defaultMaxMessage))
}

func newWriter(h hook) *Writer { return &Writer{h: h, changed: make(chan struct{})} }

// Write sends a chunk; stubs in it stay the caller's.
func (w *Writer) Write(ctx context.Context, chunk any) error {
	size := sizeOf(chunk, 0)
	if err := w.waitBelow(ctx, streamWindow); err != nil {
		return err
	}
	w.mu.Lock()
	w.flight += size
	w.mu.Unlock()
	w.invoke("write", []any{chunk}, func(err error) { w.settle(size, err) })
	return nil
}

// waitBelow waits until fewer than n bytes are in flight.
func (w *Writer) waitBelow(ctx context.Context, n int) error {
	for {
		w.mu.Lock()
		failed, busy, changed := w.failed, w.flight >= n, w.changed
		if w.ended && failed == nil {
			failed = typeError("the stream is closed")
		}
		w.mu.Unlock()
		if failed != nil || !busy {
			return failed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (w *Writer) settle(size int, err error) {
	w.mu.Lock()
	w.flight -= size
	if err != nil && w.failed == nil {
		w.failed = err
	}
	close(w.changed)
	w.changed = make(chan struct{})
	w.mu.Unlock()
}

// Close ends the stream and waits until the other side has taken everything.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	if w.ended {
		w.mu.Unlock()
		return nil
	}
	w.ended = true
	failed := w.failed
	w.mu.Unlock()
	if failed != nil {
		w.release()
		return failed
	}
	done := make(chan error, 1)
	w.invoke("close", []any{}, func(err error) { done <- err })
	defer w.release()
	select {
	case err := <-done:
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.failed != nil {
			return w.failed
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Abort ends the stream with an error; chunks on their way may be lost.
func (w *Writer) Abort(reason error) {
	w.mu.Lock()
	was := w.ended || w.failed != nil
	w.ended = true
	w.mu.Unlock()
	if !was {
		w.invoke("abort", []any{wireError(reason)}, func(error) {})
	}
	w.release()
}

// release gives up the stream; without Close it counts as aborted.
func (w *Writer) release() {
	w.mu.Lock()
	was := w.freed
	w.freed = true
	w.ended = true
	w.mu.Unlock()
	if !was {
		w.h.dispose()
	}
}

// invoke makes a call whose answer comes unasked.
func (w *Writer) invoke(method string, args []any, done func(error)) {
	pl := &payload{value: args, borrowed: true}
	path := []any{method}
	var out hook
	if entry, ok := w.h.(*importEntry); ok {
		out = entry.send("stream", context.Background(), path, pl)
	} else {
		out = w.h.call(context.Background(), path, pl)
	}
	out.pull(func(_ *payload, err error) {
		done(err)
		out.dispose()
	})
}

// sinkHook is the writable end of a stream that lives here: it takes write, close and abort
// and carries them out in order on a goroutine of its own.
type sinkHook struct {
	sink  Sink
	ctx   context.Context
	limit int
	refs  atomic.Int32

	mu      sync.Mutex
	jobs    []sinkJob
	waiting int // bytes in jobs
	running bool
	ended   bool
	failed  error
}

type sinkJob struct {
	method string
	args   *payload
	size   int
	out    *pendingHook
}

func newSinkHook(sink Sink, ctx context.Context, limit int) *sinkHook {
	h := &sinkHook{sink: sink, ctx: ctx, limit: limit}
	h.refs.Store(1)
	return h
}

func (h *sinkHook) call(_ context.Context, path []any, args *payload) hook {
	method := ""
	if len(path) == 1 {
		method = partText(path[0])
	}
	if method != "write" && method != "close" && method != "abort" {
		args.dispose()
		return &errorHook{plainError("Unknown WritableStream method: " + pathText(path))}
	}
	if err := args.own(); err != nil {
		return &errorHook{err}
	}
	if method == "abort" {
		return h.abort(args)
	}
	job := sinkJob{method, args, sizeOf(args.snapshot(), 0), newPending()}
	h.mu.Lock()
	if h.waiting+job.size > h.limit {
		h.mu.Unlock()
		args.dispose()
		return &errorHook{plainError(textFull)}
	}
	if method == "close" {
		h.ended = true
	}
	h.waiting += job.size
	h.jobs = append(h.jobs, job)
	start := !h.running
	h.running = true
	h.mu.Unlock()
	if start {
		go h.run()
	}
	return job.out
}

// abort does not wait for its turn.
func (h *sinkHook) abort(args *payload) hook {
	reason := error(plainError("the stream was aborted"))
	if l, ok := args.snapshot().([]any); ok && len(l) > 0 {
		if e, ok := l[0].(error); ok {
			reason = e
		}
	}
	args.dispose()
	h.fail(reason)
	return settled(Undefined{}, nil)
}

func (h *sinkHook) fail(reason error) {
	h.mu.Lock()
	was := h.failed != nil
	h.ended = true
	if !was {
		h.failed = reason
	}
	h.mu.Unlock()
	if !was {
		_, _ = protect(func() (any, error) { h.sink.Abort(reason); return nil, nil }, nil)
	}
}

func (h *sinkHook) run() {
	for {
		h.mu.Lock()
		if len(h.jobs) == 0 {
			h.running = false
			h.mu.Unlock()
			return
		}
		job := h.jobs[0]
		h.jobs = h.jobs[1:]
		failed := h.failed
		h.mu.Unlock()
		if failed == nil {
			failed = h.carryOut(job)
		}
		h.mu.Lock()
		h.waiting -= job.size
		if failed != nil && h.failed == nil {
			h.failed = failed
		}
		h.mu.Unlock()
		if failed != nil || job.method != "write" {
			job.args.dispose()
		}
		job.out.settle(settled(Undefined{}, failed))
	}
}

func (h *sinkHook) carryOut(job sinkJob) error {
	ready := make(chan error, 1)
	job.args.deliver(func(err error) { ready <- err })
	select {
	case err := <-ready:
		if err != nil {
			return err
		}
	case <-h.ctx.Done():
		return h.ctx.Err()
	}
	if err := job.args.detach(); err != nil {
		return err
	}
	var chunk any = Undefined{}
	if l, ok := job.args.value.([]any); ok && len(l) > 0 {
		chunk = l[0]
	}
	if st, ok := h.sink.(*Stream); ok && job.method == "write" {
		return st.write(h.ctx, chunk, job.args.charge.Swap(nil))
	}
	_, err := protect(func() (any, error) {
		if job.method == "close" {
			return nil, h.sink.Close(h.ctx)
		}
		return nil, h.sink.Write(h.ctx, chunk)
	}, nil)
	job.args.uncharge()
	return err
}

func (h *sinkHook) get(context.Context, []any) hook {
	return &errorHook{plainError("Cannot access properties on a WritableStream stub")}
}

func (h *sinkHook) remap(_ []any, captures []hook, _ *mapProgram) hook {
	disposeAll(captures)
	return &errorHook{plainError("Cannot use map() on a WritableStream")}
}

func (h *sinkHook) dup() hook {
	h.refs.Add(1)
	return h
}

func (h *sinkHook) pull(fn func(*payload, error)) {
	fn(nil, plainError("Cannot pull a WritableStream stub"))
}

func (h *sinkHook) dispose() {
	if h.refs.Add(-1) != 0 {
		return
	}
	h.mu.Lock()
	ended := h.ended
	h.mu.Unlock()
	if !ended {
		h.fail(plainError(textNotClosed))
	}
}

func (h *sinkHook) onBroken(func(error)) {}
