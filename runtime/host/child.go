package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"toolshed/runtime/host/wire"
)

// Times of the kernel's watch over a child.
const (
	helloTime  = 30 * time.Second // a cold start compiles the engine
	pingEvery  = time.Second
	pongMargin = 5 * time.Second // beyond the hard deadline of the slowest instance

	readerPatience = 5 * time.Millisecond // with what answers set off; more than most take
)

// ErrBuild is wrapped by StartChild's error when the child was made from another build.
var ErrBuild = errors.New("the gadget host is of another build")

// Child is a running child process.
type Child struct {
	config Config
	cmd    *exec.Cmd
	link   io.ReadWriteCloser
	in     *bufio.Reader
	out    *wire.Outbox
	walls  Walls
	exited chan struct{} // the process was reaped
	done   chan struct{} // the child is unusable and every instance was told
	relay  *wire.Relay

	mu        sync.Mutex
	err       error
	instances map[uint32]*Instance
	next      uint32
	busy      bool // something was sent since the last ping
	pinged    time.Time
	nonce     uint64 // of the ping
	probes    int    // not reported on
	full      bool   // it does not read what it is sent
	reports   chan []Attempt
}

// StartChild starts a child and waits until it has given up its privileges. It blocks for the compilation of the
// engine: milliseconds with a filled CacheDir, about half a second without.
func StartChild(ctx context.Context, config Config) (*Child, error) {
	if config.Log == nil {
		config.Log = slog.Default()
	}
	c := &Child{config: config, exited: make(chan struct{}), done: make(chan struct{}),
		instances: map[uint32]*Instance{}, reports: make(chan []Attempt, 1)}
	c.relay = wire.NewRelay(c.read, readerPatience)
	if err := c.spawn(); err != nil {
		return nil, fmt.Errorf("host: start the child: %w", err)
	}
	stop := context.AfterFunc(ctx, c.kill)
	timer := time.AfterFunc(helloTime, c.kill)
	err := c.greet()
	timer.Stop()
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.kill()
		<-c.exited
		c.link.Close()
		c.out.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("host: start the child: %w", err)
	}
	go c.read()
	go c.watch()
	return c, nil
}

// spawn starts the process from a thread that stays as long as the process: the parent-death signal is sent when the
// thread that started a child ends, not the process.
func (c *Child) spawn() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		link, cmd, space, err := launch(c.config.Command)
		c.link, c.cmd, c.walls = link, cmd, Walls{space}
		started <- err
		if err != nil {
			return
		}
		err = cmd.Wait()
		c.config.Log.Debug("gadget host exited", "pid", cmd.Process.Pid, "state", err)
		close(c.exited)
	}()
	if err := <-started; err != nil {
		return err
	}
	c.in = bufio.NewReaderSize(c.link, 64<<10)
	c.out = wire.NewOutbox(c.link)
	return nil
}

// greet exchanges the hello frames.
func (c *Child) greet() error {
	c.out.Put(wire.Pack(wire.Hello, 0).Uint(wire.Version).Text(c.config.Build).Text(c.config.CacheDir).
		Bool(c.config.NoImage).Bool(c.config.CopyImage).Int(int64(c.config.Refill)).
		Bool(c.config.noInterrupt).Done())
	f, err := wire.Read(c.in)
	if err != nil {
		return fmt.Errorf("it did not answer: %w", err)
	}
	u := wire.Unpacker{B: f.Body}
	version, build, trouble := u.Uint(), u.Text(), u.Text()
	switch {
	case f.Kind != wire.Welcome || u.Err != nil:
		return wire.ErrFrame
	case version != wire.Version || build != c.config.Build:
		return fmt.Errorf("%w: %q, not %q", ErrBuild, build, c.config.Build)
	case trouble != "":
		return errors.New(trouble)
	}
	for n := u.CountOf(2, wire.MaxAttempts); n > 0; n-- {
		c.walls = append(c.walls, Wall{Name: u.Text(), Missing: u.Text()})
	}
	for _, w := range c.walls {
		if w.Missing != "" {
			c.config.Log.Warn("a wall of the gadget host is missing", "wall", w.Name, "why", w.Missing)
		}
	}
	if !u.End() {
		return wire.ErrFrame
	}
	return nil
}

// Walls tells what holds this child.
func (c *Child) Walls() Walls { return append(Walls(nil), c.walls...) }

// PID returns the child's process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Done is closed when the child is unusable.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err returns why the child is unusable, a *Failure, and nil while it is usable.
func (c *Child) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close kills the child and waits until it is reaped. Its instances end with the kind "closed". It may be called
// more than once.
func (c *Child) Close() {
	c.fail(wire.Fail(KindClosed, "the gadget host was closed"))
	<-c.done
}

func (c *Child) kill() {
	// After the process was reaped Kill does nothing: os.Process knows.
	_ = c.cmd.Process.Kill()
}

// fail ends the child and every instance, once.
func (c *Child) fail(why *Failure) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = why
	instances := c.instances
	c.instances = map[uint32]*Instance{}
	c.mu.Unlock()
	c.kill()
	c.link.Close()
	c.out.Close()
	for _, i := range instances {
		i.end(why)
	}
	go func() {
		<-c.exited
		close(c.done)
	}()
}

// read takes frames and hands them on until another goroutine does. What is set off by a turn may block, but not the
// reading: the relay sees to that.
func (c *Child) read() {
	for {
		f, err := wire.Read(c.in)
		if err == nil && f.Kind == wire.Turn {
			if !c.relay.Do(func() { err = c.take(f) }) && err == nil {
				return
			}
		} else if err == nil {
			err = c.take(f)
		}
		if err != nil {
			what := "the gadget host ended unexpectedly"
			if errors.Is(err, wire.ErrFrame) {
				what = "the gadget host broke the protocol"
			}
			c.fail(wire.Fail(KindChild, what))
			return
		}
	}
}

// take takes one frame. What the child says without having been asked is an error.
func (c *Child) take(f wire.Frame) error {
	switch f.Kind {
	case wire.Pong:
		u := wire.Unpacker{B: f.Body}
		nonce := u.Uint()
		c.mu.Lock()
		defer c.mu.Unlock()
		if !u.End() || c.pinged.IsZero() || nonce != c.nonce {
			return wire.ErrFrame
		}
		c.pinged = time.Time{}
	case wire.Report:
		c.mu.Lock()
		c.probes--
		unasked := c.probes < 0
		c.mu.Unlock()
		attempts, err := wire.UnpackAttempts(f.Body)
		if unasked || err != nil {
			return wire.ErrFrame
		}
		select {
		case c.reports <- attempts:
		default:
		}
	default:
		c.mu.Lock()
		i := c.instances[f.Inst]
		c.mu.Unlock()
		if i != nil {
			i.take(f)
		}
	}
	return nil
}

// send queues a frame for the child.
func (c *Child) send(frame []byte) { c.sendThen(frame, nil) }

// sendThen is send, and calls the function just before the frame is written. A child that does not read is killed,
// from a goroutine of its own: whoever sends may hold an instance.
func (c *Child) sendThen(frame []byte, leaving func()) {
	c.sent(c.out.PutThen(frame, leaving))
}

// sent is told how many bytes wait after a frame was sent.
func (c *Child) sent(waiting int) {
	over := waiting > wire.MaxOutbox
	c.mu.Lock()
	c.busy = true
	first := over && !c.full
	c.full = c.full || over
	c.mu.Unlock()
	if first {
		go c.fail(wire.Fail(KindChild, "the gadget host does not read what it is sent"))
	}
}

// watch pings the child after it was sent something, and kills it when no answer comes.
func (c *Child) watch() {
	t := time.NewTicker(pingEvery)
	defer t.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-c.exited:
			c.fail(wire.Fail(KindChild, "the gadget host ended unexpectedly"))
			return
		case now := <-t.C:
			c.mu.Lock()
			ping := c.busy && c.pinged.IsZero()
			if ping {
				c.busy, c.pinged, c.nonce = false, now, rand.Uint64()
			}
			nonce := c.nonce
			patience := pongMargin
			for _, i := range c.instances {
				patience = max(patience, i.spec.Limits.Hard+pongMargin)
			}
			late := !c.pinged.IsZero() && now.Sub(c.pinged) > patience
			c.mu.Unlock()
			if late {
				c.fail(wire.Fail(KindChild, "the gadget host stopped answering"))
				return
			}
			if ping {
				c.out.Put(wire.Pack(wire.Ping, 0).Uint(nonce).Done())
			}
		}
	}
}

// withDefaults fills in the limits that are zero.
func withDefaults(l Limits) Limits {
	if l.Memory <= 0 || l.Memory > math.MaxInt32 {
		l.Memory = 64 << 20
	}
	l.Memory = max(l.Memory, minMemory)
	if l.Soft <= 0 {
		l.Soft = 2 * time.Second
	}
	if l.Hard <= 0 {
		l.Hard = l.Soft + time.Second
	}
	return l
}

// minMemory is the smallest memory limit: the engine and the prelude need about a quarter of it.
const minMemory = 4 << 20
