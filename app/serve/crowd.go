package serve

import (
	"context"
	"net"
	"slices"
	"sync"
)

// maxGuests bounds the connections that have not shown the token. A browser needs a handful for the page and one for each
// pipe until it is let in.
const maxGuests = 128

// crowd is a listener whose connections are guests until they are let in. When there are too many, the one that has been
// here longest goes: whoever opens connections and keeps them can neither use up the program's descriptors nor keep a page
// from being opened.
type crowd struct {
	net.Listener
	mu     sync.Mutex
	guests []*guest // the oldest first
}

// guest is a connection that has not shown the token.
type guest struct {
	net.Conn
	crowd *crowd
}

// Accept waits for a connection and makes room for it.
func (c *crowd) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	g := &guest{conn, c}
	c.mu.Lock()
	c.guests = append(c.guests, g)
	var oldest *guest
	if on(checkCrowd) && len(c.guests) > maxGuests {
		oldest = c.guests[0]
	}
	c.mu.Unlock()
	if oldest != nil {
		oldest.Close()
	}
	return g, nil
}

// count returns how many guests there are.
func (c *crowd) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.guests)
}

// leave takes the connection off the list: it has ended, or it is a page's now.
func (g *guest) leave() {
	g.crowd.mu.Lock()
	defer g.crowd.mu.Unlock()
	if at := slices.Index(g.crowd.guests, g); at >= 0 {
		g.crowd.guests = slices.Delete(g.crowd.guests, at, at+1)
	}
}

// Close closes the connection. It may be called twice.
func (g *guest) Close() error {
	g.leave()
	return g.Conn.Close()
}

type guestKey struct{}

// withGuest is the http.Server's ConnContext: a request can say of its connection that it was let in.
func withGuest(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, guestKey{}, conn)
}

// letIn makes a page's of the connection that a request came over.
func letIn(ctx context.Context) {
	if g, ok := ctx.Value(guestKey{}).(*guest); ok {
		g.leave()
	}
}
