//go:build desktop

package app

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/wailsapp/wails/v2/pkg/runtime"

	"toolshed/app/api"
)

const (
	pipeEvent = "pipe"
	maxBatch  = 64 << 20 // bytes of one batch
)

// Pipe is the page's way to the program in the window: it carries frames of the same form as the WebSocket of the browser
// mode (see api.API.Serve). Beside it only Desktop is bound to the page.
//
// Small batches of frames are messages of the window library; large ones are HTTP requests to the asset server, guarded by
// a secret that only a bound method gives out. The library does not keep messages in order, so batches are numbered.
type Pipe struct {
	ctx context.Context
	api *api.API
	log *slog.Logger

	mu     sync.Mutex
	window context.Context
	secret string
	line   *line
	lines  sync.WaitGroup
}

func newPipe(ctx context.Context, a *api.API, log *slog.Logger) *Pipe {
	return &Pipe{ctx: ctx, api: a, log: log}
}

func (p *Pipe) show(window context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.window = window
}

// wait gives the page's sessions time to end.
func (p *Pipe) wait(limit time.Duration) {
	ended := make(chan struct{})
	go func() {
		p.lines.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(limit):
	}
}

// Open begins a new connection of the page, ending an earlier one, and returns the secret for its large batches.
func (p *Pipe) Open() string {
	noteOpen()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line != nil {
		p.line.end() // the page has given it up already
	}
	p.secret = newSecret()
	window := p.window
	l := newLine(func(event map[string]any) { runtime.EventsEmit(window, pipeEvent, event) })
	p.line = l
	p.lines.Add(1)
	go func() {
		defer p.lines.Done()
		err := p.api.Serve(p.ctx, l)
		if err != nil && !errors.Is(err, io.EOF) && p.ctx.Err() == nil {
			p.log.Warn("the page's connection ended", "error", err)
		}
	}()
	return p.secret
}

// Send takes batch number seq, counted from 1 since Open.
func (p *Pipe) Send(seq int, frames []string) error {
	p.mu.Lock()
	l := p.line
	p.mu.Unlock()
	if l == nil {
		return errors.New("the pipe is not open")
	}
	return l.take(seq, frames)
}

// allowed says whether a request was made by the page itself: frames have the Origin null and do not know the secret.
func (p *Pipe) allowed(r *http.Request) bool {
	p.mu.Lock()
	secret := p.secret
	p.mu.Unlock()
	given := r.Header.Get(secretHeader)
	return secret != "" && r.Header.Get("Origin") != "null" && subtle.ConstantTimeCompare([]byte(given), []byte(secret)) == 1
}

// handler serves /pipe to the page and everything else from next.
func (p *Pipe) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, isPipe := strings.CutPrefix(r.URL.Path, "/pipe")
		switch {
		case !isPipe:
			next.ServeHTTP(w, r)
		case !p.allowed(r):
			http.Error(w, "refused", http.StatusForbidden)
		case r.Method == http.MethodPost && id == "":
			p.post(w, r)
		case r.Method == http.MethodGet:
			p.fetch(w, strings.TrimPrefix(id, "/"))
		default:
			http.Error(w, "refused", http.StatusMethodNotAllowed)
		}
	})
}

func (p *Pipe) post(w http.ResponseWriter, r *http.Request) {
	var batch struct {
		Seq    int      `json:"seq"`
		Frames []string `json:"frames"`
	}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBatch)).Decode(&batch)
	if err == nil {
		err = p.Send(batch.Seq, batch.Frames)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (p *Pipe) fetch(w http.ResponseWriter, id string) {
	p.mu.Lock()
	l := p.line
	p.mu.Unlock()
	batch, found := l.pickUp(id)
	if !found {
		http.Error(w, "gone", http.StatusGone)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(batch) // a page that is gone needs no answer
}
