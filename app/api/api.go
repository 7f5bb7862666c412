// Package api is every capability that something outside the kernel can hold: one role for each kind of caller, with a
// table of what it may do and nothing else.
//
// The page holds a shell (Serve), which is trusted with everything the person in front of it may do. A frame holds the
// capability of its own gadget and nothing else. The command line holds commandLine: it may read and call, not decide.
//
// The page's TypeScript types are generated from the tables here (typescript.go); a test fails when they differ.
package api

import (
	"log/slog"
	"sync"
	"time"

	"toolshed/app/overseer"
	"toolshed/app/profile"
)

// API hands out the program's capabilities.
type API struct {
	kernel   *overseer.Kernel
	profile  *profile.Profile
	build    string
	log      *slog.Logger
	frames   frames
	patience time.Duration // callbackLimit

	mu      sync.Mutex
	notices []Notice
	raise   func()
}

// New makes the API of an open kernel and profile.
func New(kernel *overseer.Kernel, profile *profile.Profile, build string, log *slog.Logger) *API {
	return &API{kernel: kernel, profile: profile, build: build, log: log, patience: callbackLimit}
}

// OnRaise sets what brings the program's window to the front when a second start asks for it. Nil: there is no window.
func (a *API) OnRaise(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.raise = f
}

// Notify shows a notice on every page until it is dismissed. One with the same id replaces the earlier one.
func (a *API) Notify(n Notice) {
	defer a.kernel.Changed()
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.notices {
		if a.notices[i].ID == n.ID {
			a.notices[i] = n
			return
		}
	}
	a.notices = append(a.notices, n)
}

func (a *API) dismiss(id string) {
	defer a.kernel.Changed()
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.notices {
		if a.notices[i].ID == id {
			a.notices = append(a.notices[:i], a.notices[i+1:]...)
			return
		}
	}
}

// TakeFrame says whether the id is that of a frame document that was minted and not yet fetched, and uses it up.
func (a *API) TakeFrame(id string) bool { return a.frames.take(id) }
