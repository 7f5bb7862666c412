package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"toolshed/app/overseer"
	"toolshed/runtime/capnweb"
)

// Bounds on one page's connection.
const (
	maxFrame = 32 << 20 // bytes of one message: GADGETS' limit
	maxViews = 64       // views open at once
)

// viewOptions bound the session of a view, whose frame runs code that nobody read.
var viewOptions = capnweb.Options{Name: "view", MaxMessage: maxFrame, MaxHeld: 64 << 20, MaxCalls: 4_096, MaxExports: 4_096, MaxImports: 4_096, OnSendError: sendFrameError}

// connection is one page: its pipe, the shell's session on channel 0, and a session for each view. A frame of the pipe is
// "<channel>:<message>"; an empty message closes the channel.
type connection struct {
	api  *API
	pipe capnweb.Transport // its Send may wait until the page takes a frame; only write calls it
	box  *outbox
	ctx  context.Context

	mu       sync.Mutex
	last     int // channel numbers are not used again
	channels map[int]*channel
}

// Serve speaks with one page over pipe until the page goes, ctx ends, or the page breaks the protocol. It returns why. The
// pipe's Send may wait for the page: what the page does not take in time waits here, each channel by itself.
func (a *API) Serve(ctx context.Context, pipe capnweb.Transport) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &connection{api: a, pipe: pipe, box: newOutbox(), ctx: ctx, channels: map[int]*channel{}}
	shell := newChannel(c, 0)
	c.channels[0] = shell
	session := capnweb.NewSession(shell, c.shell().target(), &capnweb.Options{Name: "shell", MaxMessage: maxFrame, OnSendError: sendError})
	go func() { // a page whose own session is over is of no use
		<-session.Done()
		cancel(session.Err())
	}()
	go func() { cancel(c.write(ctx)) }()
	err := c.read(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	cancel(nil)
	session.Close()
	c.closeAll(err)
	pipe.Close(err)
	return err
}

// write sends what the channels have queued until the page does not take it any more.
func (c *connection) write(ctx context.Context) error {
	for {
		frame, err := c.box.next(ctx)
		if err == nil {
			err = c.pipe.Send(frame)
		}
		if err != nil {
			return err
		}
	}
}

// read hands incoming frames to their channels.
func (c *connection) read(ctx context.Context) error {
	for {
		frame, err := c.pipe.Receive(ctx)
		if err != nil {
			return err
		}
		head, message, found := bytes.Cut(frame, []byte(":"))
		number, err := strconv.Atoi(string(head))
		if !found || err != nil || number < 0 {
			return errors.New("api: the page sent a frame without a channel")
		}
		if len(message) == 0 {
			c.closeChannel(number)
			continue
		}
		c.mu.Lock()
		ch := c.channels[number]
		c.mu.Unlock()
		if ch == nil {
			continue // closed here while the frame was on its way
		}
		if err := ch.deliver(message); err != nil {
			if number == 0 {
				return err
			}
			c.closeChannel(number)
		}
	}
}

// reserve opens the channel of a view that is about to open, or answers nil when maxViews are open or opening.
func (c *connection) reserve() *channel {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.channels) > maxViews { // the shell's own is one of them
		return nil
	}
	c.last++
	ch := newChannel(c, c.last)
	c.channels[c.last] = ch
	return ch
}

// closeChannel ends a channel's session, if it is open.
func (c *connection) closeChannel(number int) {
	c.mu.Lock()
	ch := c.channels[number]
	c.mu.Unlock()
	if ch != nil {
		ch.Close(nil)
	}
}

func (c *connection) forget(number int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.channels, number)
}

func (c *connection) closeAll(reason error) {
	c.mu.Lock()
	all := make([]*channel, 0, len(c.channels))
	for _, ch := range c.channels {
		all = append(all, ch)
	}
	c.mu.Unlock()
	for _, ch := range all {
		ch.Close(reason)
	}
}

// openView opens a user interface: it mints the frame's document and gives the frame a channel whose main capability is
// the gadget, and nothing else.
func (c *connection) openView(ctx context.Context, p GadgetRef) (View, error) {
	ch := c.reserve()
	if ch == nil {
		return View{}, &overseer.Problem{Kind: "too-many-views", What: "The view could not be opened", Why: fmt.Sprintf("%d views are open", maxViews), Todo: "Close some of them."}
	}
	view, err := c.api.kernel.OpenView(p.ref())
	if err != nil {
		c.forget(ch.number)
		known := overseer.Explain(err)
		switch known.Kind {
		case "syntax", "headless":
			return View{Problem: problemOf(known)}, nil
		}
		return View{}, err
	}
	session := capnweb.NewSession(ch, view.Stub, &viewOptions)
	go func() {
		select {
		case <-session.Done():
		case <-c.ctx.Done():
			session.Close()
		}
		view.Close()
		ch.Close(session.Err())
	}()
	return View{Channel: ch.number, Frame: "/frame/" + c.api.frames.mint(), Code: view.Code}, nil
}

// subscribe runs feed until it returns, the page disposes the subscription, or the connection ends. feed sends by calling
// the page's callback and waits for it, so that a slow page slows its own feed only.
func (c *connection) subscribe(callback *capnweb.Stub, done func(), feed func(context.Context, func(any) error) error) Subscription {
	callback = callback.Dup()
	ctx, stop := context.WithCancel(c.ctx)
	go func() {
		defer callback.Dispose()
		defer done()
		defer stop()
		err := feed(ctx, func(v any) error {
			ctx, cancel := context.WithTimeout(ctx, c.api.patience)
			defer cancel()
			result, err := callback.Call(ctx, "", encodeAny(v)).Await(ctx)
			capnweb.DisposeValue(result)
			return err
		})
		if err != nil && ctx.Err() == nil {
			c.api.log.Warn("a subscription of the page ended", "error", err)
		}
	}()
	return Subscription{capnweb.NewStub(&capnweb.Table{
		Methods:   capnweb.Methods{"stop": func(context.Context, []any) (any, error) { stop(); return capnweb.Undefined{}, nil }},
		OnDispose: stop,
	})}
}
