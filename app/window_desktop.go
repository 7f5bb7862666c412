//go:build desktop

package app

import (
	"context"
	"image"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/wailsapp/wails/v2/pkg/runtime"

	"toolshed/app/api"
)

// Desktop is what the page may ask of the window and of the system around it. It is bound to the page, beside Pipe and
// behind the same gate: no frame reaches it. What it does for a gadget, the page has asked the person about.
type Desktop struct {
	log    *slog.Logger
	memory *memory
	saves  *saves

	mu      sync.Mutex
	window  context.Context
	keeping *time.Timer // runs until the place is remembered
	place   place
	screens []image.Rectangle
}

// keepAfter is how long the window stands still before its place is remembered: a drag moves it many times a second.
const keepAfter = 500 * time.Millisecond

func newDesktop(m *memory, log *slog.Logger) *Desktop {
	d := &Desktop{log: log, memory: m}
	d.saves = &saves{memory: m, downloads: downloadsFolder, ask: d.askWhere}
	return d
}

func (d *Desktop) show(window context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.window = window
}

func (d *Desktop) shown() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.window
}

// handler takes the bytes of files at /save; everything else is next's.
func (d *Desktop) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/save" {
			d.saves.serve(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (d *Desktop) askWhere(folder, name string) (string, error) {
	return runtime.SaveFileDialog(d.shown(), runtime.SaveDialogOptions{Title: "Save file", DefaultDirectory: folder, DefaultFilename: name, CanCreateDirectories: true})
}

// ChooseFile asks the person with the system's dialog where a gadget's file of so many bytes is to go. It answers when they
// have; the page then sends the bytes to /save with the ticket.
func (d *Desktop) ChooseFile(name string, size int64) FileChoice { return d.saves.choose(name, size) }

// OpenAddress opens an address in the person's browser or mail program. It answers with what went wrong, or nothing.
func (d *Desktop) OpenAddress(address string) *api.Problem { return openAddress(address) }

// begins answers where the window goes, and makes its page as large as it was.
func (d *Desktop) begins(screens []image.Rectangle) place {
	kept := d.memory.recall()
	if zoom := kept.zoom(); zoom != usualZoom {
		zoomWindow(zoom)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.place = kept.placeFor(screens)
	return d.place
}

// stands is told where the window stands. One that is maximised goes back to where it was before when it is not any more.
func (d *Desktop) stands(p place, screens []image.Rectangle) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.Maximised {
		before := d.place
		before.Maximised = true
		p = before
	}
	d.place, d.screens = p, screens
	if d.keeping == nil {
		d.keeping = time.AfterFunc(keepAfter, d.keep)
	} else {
		d.keeping.Reset(keepAfter)
	}
}

// keep remembers where the window stands, if that was told.
func (d *Desktop) keep() {
	d.mu.Lock()
	p, screens := d.place, d.screens
	d.mu.Unlock()
	if screens == nil {
		return
	}
	d.remember(func(kept *remembered) { kept.stand(p, screens) })
}

// remember changes the memory. What it cannot keep is set up again by hand the next time.
func (d *Desktop) remember(change func(*remembered)) {
	if err := d.memory.change(change); err != nil {
		d.log.Warn("the window's place and size are not remembered", "error", err)
	}
}

// Zoom makes the page larger if by is positive, smaller if it is negative, and as usual if it is 0.
func (d *Desktop) Zoom(by int) {
	d.remember(func(kept *remembered) {
		kept.Zoom = zoomed(kept.zoom(), by)
		zoomWindow(kept.Zoom) // here, so that the last of several is the one that is remembered
	})
}

// FullScreen lets the window fill the screen, or no longer.
func (d *Desktop) FullScreen() { toggleFullScreen() }
