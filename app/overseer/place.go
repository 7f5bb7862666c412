package overseer

import (
	"errors"
	"time"

	"toolshed/runtime/host"
)

// A gadget whose turn ran when its child died is a suspect. One that was suspects times within suspectWindow gets a child of
// its own, so that it can harm no other; when it ends that one as well it is left stopped.
const (
	suspects      = 2
	suspectWindow = 10 * time.Minute
)

// suspicion is what is known of a gadget's part in the deaths of its children. The gadget's lock protects it.
type suspicion struct {
	times       []time.Time
	quarantined bool
}

// place says which child the gadget runs in.
func (g *gadget) place() host.Place {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := host.Place{Workspace: g.workspace.id}
	if g.suspicion.quarantined {
		at.Purpose, at.Gadget = host.ForQuarantine, g.id
	}
	return at
}

// died notes how a run ended. It returns why the gadget must not be started again, if so.
func (s *suspicion) died(err error, now time.Time) *Problem {
	var f *host.Failure
	if !errors.As(err, &f) || f.Kind != host.KindChild || !f.Suspect {
		return nil
	}
	if s.quarantined {
		return problem(host.KindChild, "The gadget was stopped: it ended its process again and again",
			"what it did ended the process that it shared with other gadgets, and then the one that it had for itself",
			"What it had stored is safe, and the other gadgets go on. Look at its code before you start it again.")
	}
	recent := []time.Time{now}
	for _, t := range s.times {
		if now.Sub(t) < suspectWindow {
			recent = append(recent, t)
		}
	}
	s.times = recent
	s.quarantined = len(recent) >= suspects
	return nil
}
