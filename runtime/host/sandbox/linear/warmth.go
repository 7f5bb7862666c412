package linear

import (
	"sync"

	"toolshed/runtime/host/sandbox/image"
)

const (
	maxLessons = 4   // instances to learn from
	maxWarm    = 256 // pages that are copied before they are written to
)

// warmth knows which pages every instance writes to soon: those that all of the first few have changed. No gadget can add a
// page that another would not write to, unless all of them come from it.
type warmth struct {
	mu      sync.Mutex
	lessons int
	runs    []image.Run
}

func (w *warmth) learn(changed func() []image.Run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.lessons {
	case maxLessons:
		return
	case 0:
		w.runs = changed()
	default:
		w.runs = image.Common(w.runs, changed())
	}
	w.lessons++
}

// pages returns what is known, nil if nothing or if it is so much that sharing it must be worth more.
func (w *warmth) pages() []image.Run {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := uint32(0)
	for _, r := range w.runs {
		n += r.Pages
	}
	if n > maxWarm {
		return nil
	}
	return w.runs
}
