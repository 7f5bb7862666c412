// Package batch carries Cap'n Web over single HTTP requests, compatible with the batches of
// the npm package capnweb 0.12.
//
// The model: a session lives for one POST. The body of the request is everything the client
// has to say, the body of the answer everything the server has to say, messages joined by
// line feeds. Pipelining works, so a batch may hold calls on the results of its own calls.
//
// Caveats: the server cannot call back, because the client has already spoken: a method that
// waits for a callback or a stream of the client runs into the deadline. When the answer is
// read the session is over, and stubs in results are broken.
package batch

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"toolshed/runtime/capnweb"
)

// ErrEnded is the error of calls that a batch did not answer, or that came too late for it.
var ErrEnded = errors.New("batch: the request has ended")

var errTooLarge = errors.New("batch: the answer is larger than allowed")

// Options of a server or client. A zero field means its default.
type Options struct {
	Session *capnweb.Options // limits of the session

	MaxBody int           // bytes of the request and of the answer; default 8 MiB
	Timeout time.Duration // for the whole of a request; default 30 seconds
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.MaxBody <= 0 {
		out.MaxBody = 8 << 20
	}
	if out.Timeout <= 0 {
		out.Timeout = 30 * time.Second
	}
	return out
}

// exchange is the transport of a batch: messages in come from one body, messages out are
// gathered for another.
type exchange struct {
	max  int
	last bool // after the last message in, the connection ends

	ready chan struct{} // closed once in is known
	in    []string      // then only used by Receive
	read  chan struct{} // closed when the last message in has been dealt with

	mu     sync.Mutex
	out    []string
	size   int
	sealed bool

	closed chan struct{}
	shut   sync.Once
}

func newExchange(max int, last bool) *exchange {
	return &exchange{max: max, last: last, ready: make(chan struct{}), read: make(chan struct{}), closed: make(chan struct{})}
}

// receive hands over the body that holds the messages in. It is called once.
func (e *exchange) receive(body string) {
	e.in = split(body)
	close(e.ready)
}

// split cuts a body into messages; an empty one has none.
func split(body string) []string {
	if body == "" {
		return nil
	}
	return strings.Split(body, "\n")
}

// Send gathers a message. What comes after the body was taken is dropped.
func (e *exchange) Send(msg []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sealed {
		return nil
	}
	if e.size += len(msg) + 1; e.size > e.max {
		return errTooLarge
	}
	e.out = append(e.out, string(msg))
	return nil
}

// body takes what was gathered.
func (e *exchange) body() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sealed = true
	return strings.Join(e.out, "\n")
}

// Receive is called again only when the message before has been dealt with.
func (e *exchange) Receive(ctx context.Context) ([]byte, error) {
	select {
	case <-e.ready:
	case <-e.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if len(e.in) > 0 {
		msg := e.in[0]
		e.in = e.in[1:]
		return []byte(msg), nil
	}
	close(e.read)
	if e.last {
		return nil, ErrEnded
	}
	select {
	case <-e.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close ends the connection; what was gathered stays.
func (e *exchange) Close(error) { e.shut.Do(func() { close(e.closed) }) }
