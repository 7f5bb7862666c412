//go:build desktop

package app

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/wailsapp/wails/v2/pkg/runtime"

	"toolshed/app/api"
)

// Desktop is what the page may ask of the window and of the system around it. It is bound to the page, beside Pipe and
// behind the same gate: no frame reaches it. What it does for a gadget, the page has asked the person about.
type Desktop struct {
	log    *slog.Logger
	memory *memory
	saves  *saves

	mu     sync.Mutex
	window context.Context
}

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
