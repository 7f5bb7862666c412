// Package serve gives the page to a browser on this machine, and to the window: the page's files, the frame documents of
// gadgets, and (browser only) the pipe over a WebSocket.
//
// Assets are public and hold no secret. Everything else stands behind one token: `toolshed serve` prints a link whose
// fragment can be exchanged for it once; the page keeps it in sessionStorage and sends it as the first message of the pipe.
// There is no cookie, so no other page can make the browser send anything that counts. Host must be the address that was
// bound, and Origin exactly the page's own. checks.go lists what is checked.
package serve

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
)

// Frames answers whether a frame document was minted and not yet fetched, and uses it up (see api.API.TakeFrame).
type Frames interface {
	TakeFrame(id string) bool
}

// shellPolicy is the Content-Security-Policy of the page. The frame-src of the page is what stops a gadget's frame from
// navigating itself anywhere: a frame's own policy does not.
const shellPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
	"font-src 'self'; connect-src 'self'; frame-src %s/frame/; base-uri 'none'; form-action 'none'; object-src 'none'"

// unframed keeps the page from being shown in a frame, of anybody's.
const unframed = "frame-ancestors 'none'"

// framePolicy is that of a gadget's frame: scripts and data that came over its port, and no network at all.
const framePolicy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline' data:; " +
	"img-src data: blob:; media-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'; connect-src 'none'; " +
	"frame-src 'none'; worker-src 'none'; object-src 'none'"

// Assets serves the page and the frame documents. Its methods may be called from any goroutine.
type Assets struct {
	files    fs.FS
	frames   Frames
	policy   string
	document []byte
	started  time.Time
}

// NewAssets serves the built page in files to browsers that know it by origin, such as http://127.0.0.1:1234 (without a
// slash at the end).
func NewAssets(files fs.FS, frames Frames, origin string) (*Assets, error) {
	boot, err := fs.ReadFile(files, "frame/boot.js")
	if err != nil {
		return nil, fmt.Errorf("serve: the page is incomplete: %w", err)
	}
	return &Assets{files, frames, fmt.Sprintf(shellPolicy, origin), frameDocument(boot), time.Now()}, nil
}

// frameDocument is all that a frame loads: the bootstrap, inline, because its policy lets it fetch nothing.
func frameDocument(boot []byte) []byte {
	boot = bytes.ReplaceAll(boot, []byte("</script"), []byte(`<\/script`))
	boot = bytes.ReplaceAll(boot, []byte("<!--"), []byte(`<\!--`))
	var b bytes.Buffer
	b.WriteString("<!doctype html><html><head><meta charset=\"utf-8\"><script>")
	b.Write(boot)
	b.WriteString("</script></head><body></body></html>")
	return b.Bytes()
}

// ServeHTTP serves GET and HEAD; of a frame document only GET, which uses it up.
func (a *Assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	harmless(header)
	if r.Method != http.MethodGet && r.Method != http.MethodHead && on(checkMethod) {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET is served here", http.StatusMethodNotAllowed)
		return
	}
	if on(checkPath) && !plain(r.URL) {
		http.Error(w, "there is nothing here", http.StatusNotFound)
		return
	}
	if id, isFrame := strings.CutPrefix(r.URL.Path, "/frame/"); isFrame && !strings.Contains(id, ".") {
		a.serveFrame(w, r, id)
		return
	}
	a.serveFile(w, r)
}

// harmless sets what every answer carries: nobody may guess what it is, take it into another page, or be told of it.
func harmless(header http.Header) {
	if on(checkKind) {
		header.Set("X-Content-Type-Options", "nosniff")
	}
	if on(checkEmbed) {
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
	}
	header.Set("Referrer-Policy", "no-referrer")
}

// plain says whether an address is written without the detours that would let a path that a frame may navigate to, one
// under /frame/, lead to the page.
func plain(address *url.URL) bool {
	return address.RawPath == "" && (address.Path == "" || address.Path == path.Clean(address.Path))
}

func (a *Assets) serveFrame(w http.ResponseWriter, r *http.Request, id string) {
	header := w.Header()
	header.Set("Content-Security-Policy", framePolicy)
	header.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && on(checkMethod) {
		header.Set("Allow", "GET")
		http.Error(w, "a view is fetched once, with GET", http.StatusMethodNotAllowed)
		return
	}
	if !a.frames.TakeFrame(id) && on(checkFrame) {
		http.Error(w, "This view is not there any more. Open the gadget again.", http.StatusGone)
		return
	}
	header.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(a.document) // a page that is gone needs no answer
}

// kinds are the types of the page's files. The system has a table of its own, which other programs change.
var kinds = map[string]string{
	".html":  "text/html; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".css":   "text/css; charset=utf-8",
	".svg":   "image/svg+xml",
	".png":   "image/png",
	".woff2": "font/woff2",
}

func (a *Assets) serveFile(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	if name == "" || name == "." {
		name = "index.html"
	}
	info, err := fs.Stat(a.files, name)
	if err != nil || !info.Mode().IsRegular() {
		http.Error(w, "there is nothing here", http.StatusNotFound)
		return
	}
	text, err := fs.ReadFile(a.files, name)
	if err != nil {
		http.Error(w, "the page cannot be read", http.StatusInternalServerError)
		return
	}
	header := w.Header()
	a.guard(header)
	header.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, "assets/") { // their names change with their content
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if on(checkKind) {
		kind := kinds[path.Ext(name)]
		if kind == "" {
			kind = "application/octet-stream"
		}
		header.Set("Content-Type", kind)
	}
	http.ServeContent(w, r, name, a.started, bytes.NewReader(text))
}

// guard sets what keeps the page to itself.
func (a *Assets) guard(header http.Header) {
	policy := a.policy
	if on(checkFraming) {
		policy += "; " + unframed
		header.Set("X-Frame-Options", "DENY")
	}
	header.Set("Content-Security-Policy", policy)
	// Chromium's engines: no connection that the policy does not speak of, such as preconnect and WebRTC.
	header.Set("Connection-Allowlist", "(response-origin)")
	if on(checkOpener) {
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
	}
}
