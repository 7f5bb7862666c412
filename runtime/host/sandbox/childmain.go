// Package sandbox is the child's half of runtime/host: the process that holds nothing but the link to the kernel and runs gadgets in
// the JavaScript engine.
//
// Main compiles the engine with fuel, makes the start image, gives up every privilege and then deals with frames. Each
// gadget is a worker: a goroutine that owns a vm, which is an instance of the engine with a memory of its own. Frames
// come in through one loop that waits for no worker. Only one function of this package compiles WebAssembly, and its
// parameter is a *fuel.Module.
package sandbox

import (
	"bufio"
	"context"
	"io"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"toolshed/runtime/host/sandbox/linear"
	"toolshed/runtime/host/walls"
	"toolshed/runtime/host/wire"
)

// maxQueued is how many bytes of frames a worker lets wait before it waits itself.
const maxQueued = 8 << 20

// maxInline bounds a message that the reader of the link deals with itself, in bytes.
const maxInline = 64 << 10

// readerPatience is for a turn that does not tick: one instruction can fill megabytes.
const readerPatience = 3 * time.Millisecond

// box is the child's half: the engine and the workers.
type box struct {
	engine *engine
	out    *wire.Outbox

	in    *bufio.Reader // whoever reads the link, under relay
	relay *wire.Relay
	ended chan int // gets the exit code from the last reader

	freer linear.Freer

	mu      sync.Mutex
	workers map[uint32]*worker
}

func newBox(e *engine, in io.Reader, out io.Writer) *box {
	b := &box{engine: e, in: bufio.NewReaderSize(in, 64<<10), out: wire.NewOutbox(out), ended: make(chan int, 1),
		workers: map[uint32]*worker{}}
	b.relay = wire.NewRelay(b.serve, readerPatience)
	return b
}

// Options of Main are for tests; the program gives the zero value. No frame can change them.
type Options struct {
	Prelude        string // the JavaScript that runs before a gadget; empty: guest.Prelude
	KeepPrivileges bool   // leave the walls out
}

// Main is the whole life of the gadget-host role and returns the process's exit code. It speaks frames over the
// link that the kernel made, compiles the engine, gives up every privilege, and then runs gadgets until the link
// ends. The build must equal the kernel's.
//
// On Linux the child then has: no environment; no files (Landlock, and a seccomp filter that knows no call for
// opening one); no sockets but its own; no new processes; no signals to others; no core file; and, where the system
// allows it, a network and an IPC namespace of its own. It dies with the kernel. On other systems it has no
// environment, no core file, no file of any size to write, and few descriptors; WebAssembly is the wall there.
func Main(build string, options Options) int {
	runtime.GOMAXPROCS(max(4, runtime.NumCPU()))
	debug.SetMemoryLimit(linear.SoftLimit)
	link, err := walls.Inherited()
	if err != nil {
		return 2
	}
	in := bufio.NewReaderSize(link, 64<<10)
	f, err := wire.Read(in)
	if err != nil || f.Kind != wire.Hello {
		return 2
	}
	u := &wire.Unpacker{B: f.Body}
	version, theirs := u.Uint(), u.Text()
	o := engineOptions{cacheDir: u.Text(), noImage: u.Bool(), copyImage: u.Bool(), refill: int32(u.Int()),
		noInterrupt: u.Bool(), prelude: options.Prelude}
	refuse := func(trouble string) int {
		_, _ = link.Write(wire.Pack(wire.Welcome, 0).Uint(wire.Version).Text(build).Text(trouble).Done())
		return 3
	}
	if version != wire.Version || theirs != build {
		return refuse("")
	}
	if u.Err != nil {
		return refuse(u.Err.Error())
	}
	engine, err := newEngine(context.Background(), o)
	if err != nil {
		return refuse(err.Error())
	}
	var standing wire.Walls
	if !options.KeepPrivileges {
		if standing, err = walls.Drop(); err != nil {
			return refuse("the gadget host could not give up its privileges: " + err.Error())
		}
	}
	b := newBox(engine, in, link)
	p := wire.Pack(wire.Welcome, 0).Uint(wire.Version).Text(build).Text("").Uint(uint64(len(standing)))
	for _, w := range standing {
		p.Text(w.Name).Text(w.Missing)
	}
	b.out.Put(p.Done())
	go b.serve()
	return <-b.ended
}

// serve reads frames until the link ends or another goroutine reads. Nothing in it waits for an instance: a message for an
// idle one is dealt with at once, but a turn that lasts gives the reading away.
func (b *box) serve() {
	for {
		if !b.more() {
			b.out.Flush()
		}
		f, err := wire.Read(b.in)
		if err != nil {
			b.ended <- 0
			return
		}
		switch f.Kind {
		case wire.Ping:
			u := &wire.Unpacker{B: f.Body}
			b.out.Put(wire.Pack(wire.Pong, 0).Uint(u.Uint()).Done())
			continue
		case wire.Probe:
			go func() { b.out.Put(wire.PackAttempts(walls.Probe())) }()
			continue
		case wire.Start:
			w, err := newWorker(b, f.Inst, f.Body)
			if err != nil {
				b.ended <- 2
				return
			}
			b.mu.Lock()
			b.workers[f.Inst] = w
			b.mu.Unlock()
			go w.run()
			continue
		}
		b.mu.Lock()
		w := b.workers[f.Inst]
		b.mu.Unlock()
		if w == nil {
			continue // it has just ended
		}
		switch f.Kind {
		case wire.Deliver:
			if b.mayDeal(w, f.Body) {
				if !b.relay.Do(w.inline) {
					w.giveBack()
					return
				}
				w.giveBack()
				continue
			}
			w.inbox.Push(f.Body)
		case wire.Answer:
			w.answered(f.Body)
		case wire.Ack:
			u := &wire.Unpacker{B: f.Body}
			w.inbox.Acked(int(u.Uint()), int(u.Uint()))
		case wire.Quiet:
			u := &wire.Unpacker{B: f.Body}
			w.inbox.Ask(u.Uint())
		case wire.Stop:
			w.stop()
		}
	}
}

// mayDeal tells whether the reader may deal with a message itself: a large one is for a goroutine of its own, and so is one
// with another behind it if it may take longer than waking that goroutine does.
func (b *box) mayDeal(w *worker, message []byte) bool {
	more := b.more()
	return len(message) <= maxInline && (!more || w.quick.Load()) && w.borrow(message, more)
}

// more tells whether the next frame has begun to arrive.
func (b *box) more() bool { return b.in.Buffered() >= wire.Head }

// giveAway is called in a turn that lasts longer than the reader of the link can wait, if it is the reader who runs it.
func (b *box) giveAway() {
	b.out.Flush()
	b.relay.GiveAway(b.relay.Doing())
}

func (b *box) forget(w *worker) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.workers, w.id)
	b.freer.Soon()
}

// Settle is long enough for an idle instance to drop its native stacks and for the child to give free memory back.
const Settle = restAfter + linear.FreeAfter + 2*time.Second
