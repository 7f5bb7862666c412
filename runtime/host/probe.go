package host

import (
	"context"
	"errors"

	"toolshed/runtime/host/wire"
)

// Probe lets the child try what it must be refused, and tells how that went. It is for the program's own check and
// for tests; one call at a time.
func (c *Child) Probe(ctx context.Context) ([]Attempt, error) {
	c.mu.Lock()
	c.probes++
	c.mu.Unlock()
	c.send(wire.Pack(wire.Probe, 0).Done())
	select {
	case a := <-c.reports:
		return a, nil
	case <-c.done:
		return nil, errors.New("host: probe: the gadget host is gone")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
