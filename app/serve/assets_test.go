package serve

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// oneFrame knows the frame document "known", once.
type oneFrame struct{ taken bool }

func (f *oneFrame) TakeFrame(id string) bool {
	if id != "known" || f.taken {
		return false
	}
	f.taken = true
	return true
}

func testAssets(t *testing.T, files fstest.MapFS) *Assets {
	t.Helper()
	a, err := NewAssets(files, &oneFrame{}, "http://127.0.0.1:7")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func ask(h http.Handler, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, "http://127.0.0.1:7/", nil)
	r.URL.Path = path // as it is, whatever it holds
	h.ServeHTTP(w, r)
	return w
}

// The policies as the design lists them. A change to one is a change here as well.
const (
	shellPolicyWanted = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; frame-src http://127.0.0.1:7/frame/; base-uri 'none'; form-action 'none'; object-src 'none'; frame-ancestors 'none'"
	framePolicyWanted = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline' data:; img-src data: blob:; media-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'; connect-src 'none'; frame-src 'none'; worker-src 'none'; object-src 'none'"
)

func TestPolicies(t *testing.T) {
	a := testAssets(t, thePage)
	shell, frame, gone := ask(a, "GET", "/"), ask(a, "GET", "/frame/known"), ask(a, "GET", "/frame/known")
	for _, c := range []struct {
		name, header, got, want string
	}{
		{"page", "Content-Security-Policy", "", shellPolicyWanted},
		{"page", "Connection-Allowlist", "", "(response-origin)"},
		{"page", "Cross-Origin-Opener-Policy", "", "same-origin"},
		{"page", "X-Frame-Options", "", "DENY"},
		{"page", "X-Content-Type-Options", "", "nosniff"},
		{"page", "Referrer-Policy", "", "no-referrer"},
		{"frame", "Content-Security-Policy", "", framePolicyWanted},
		{"frame", "Cache-Control", "", "no-store"},
		{"frame", "Content-Type", "", "text/html; charset=utf-8"},
		{"frame", "X-Content-Type-Options", "", "nosniff"},
		{"gone", "Content-Security-Policy", "", framePolicyWanted},
		{"gone", "Cache-Control", "", "no-store"},
	} {
		answer := map[string]*httptest.ResponseRecorder{"page": shell, "frame": frame, "gone": gone}[c.name]
		if got := answer.Header().Values(c.header); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: %s is %q, not %q", c.name, c.header, got, c.want)
		}
	}
}

// lint returns what is wrong with a policy, whatever it is for.
func lint(policy string, frameSources ...string) (faults []string) {
	directives := map[string][]string{}
	for _, d := range strings.Split(policy, ";") {
		words := strings.Fields(d)
		if len(words) == 0 {
			faults = append(faults, "an empty directive")
			continue
		}
		if _, twice := directives[words[0]]; twice { // the second one would not count
			faults = append(faults, words[0]+" twice")
		}
		directives[words[0]] = words[1:]
	}
	for _, name := range []string{"default-src", "base-uri", "form-action", "object-src"} {
		if !slices.Equal(directives[name], []string{"'none'"}) {
			faults = append(faults, name+" is not 'none'")
		}
	}
	if !slices.Equal(directives["frame-src"], frameSources) {
		faults = append(faults, fmt.Sprintf("frame-src is %v", directives["frame-src"]))
	}
	for name, sources := range directives {
		for _, s := range sources {
			network := strings.Contains(s, "//") && !slices.Contains(frameSources, s)
			if strings.Contains(s, "*") || s == "'unsafe-eval'" || s == "'wasm-unsafe-eval'" || s == "http:" || s == "https:" || s == "ws:" || s == "wss:" || network {
				faults = append(faults, name+" allows "+s)
			}
		}
	}
	return faults
}

func TestPoliciesPassTheLint(t *testing.T) {
	frames := "http://127.0.0.1:7/frame/"
	shell := fmt.Sprintf(shellPolicy, "http://127.0.0.1:7") + "; " + unframed
	if faults := lint(shell, frames); faults != nil {
		t.Errorf("page: %v", faults)
	}
	if faults := lint(framePolicy, "'none'"); faults != nil {
		t.Errorf("frame: %v", faults)
	}
	if strings.Contains(shell, "script-src 'self' ") || strings.Contains(framePolicy, "allow-same-origin") {
		t.Error("scripts of the page come from elsewhere, or a frame has our origin")
	}
	for _, worse := range []string{
		strings.Replace(shell, "default-src 'none'", "default-src 'self'", 1),
		strings.Replace(shell, "default-src 'none'; ", "", 1),
		strings.Replace(shell, "connect-src 'self'", "connect-src *", 1),
		strings.Replace(shell, "connect-src 'self'", "connect-src https:", 1),
		strings.Replace(shell, "script-src 'self'", "script-src 'self' 'unsafe-eval'", 1),
		strings.Replace(shell, "script-src 'self'", "script-src https://cdn.example", 1),
		strings.Replace(shell, frames, "http://127.0.0.1:7/", 1),
		strings.Replace(shell, frames, frames+" data:", 1),
		strings.Replace(shell, "; base-uri 'none'", "", 1),
		shell + "; form-action 'self'",
	} {
		if lint(worse, frames) == nil {
			t.Errorf("the lint passes %s", worse)
		}
	}
}

func TestAFrameDocumentIsFetchedOnce(t *testing.T) {
	a := testAssets(t, thePage)
	for _, method := range []string{"HEAD", "POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "PATCH", "get", ""} {
		if method == "" {
			continue // net/http reads it as GET
		}
		if got := ask(a, method, "/frame/known"); got.Code != http.StatusMethodNotAllowed || got.Header().Get("Allow") == "" {
			t.Errorf("%s: %d", method, got.Code)
		}
	}
	for _, path := range []string{"/frame/", "/frame/unknown", "/frame/known/", "/frame/known/index", "/frame/KNOWN", "/frame//known", "/frame/ known"} {
		if got := ask(a, "GET", path); got.Code == http.StatusOK {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
	first := ask(a, "GET", "/frame/known")
	if first.Code != http.StatusOK {
		t.Fatalf("%d: a refused request has used it up", first.Code)
	}
	if again := ask(a, "GET", "/frame/known"); again.Code != http.StatusGone || strings.Contains(again.Body.String(), "start(") {
		t.Errorf("a second time: %d", again.Code)
	}
}

// Bytes of the bootstrap cannot end its script element early.
func TestTheFrameDocumentHoldsTheBootstrapOnly(t *testing.T) {
	text := ask(testAssets(t, thePage), "GET", "/frame/known").Body.String()
	want := `<!doctype html><html><head><meta charset="utf-8"><script>start("<\/script><\!--")</script></head><body></body></html>`
	if text != want {
		t.Errorf("it is %s", text)
	}
	if _, err := NewAssets(fstest.MapFS{"index.html": {}}, &oneFrame{}, "x"); err == nil {
		t.Error("a page without a bootstrap was accepted")
	}
}

func TestFiles(t *testing.T) {
	files := fstest.MapFS{"secret": {Data: []byte("outside")}}
	for name, file := range thePage {
		files["dist/"+name] = file
	}
	dist, err := fs.Sub(files, "dist")
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewAssets(dist, &oneFrame{}, "http://127.0.0.1:7")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/": 200, "": 200, "/index.html": 200, "/assets/index-abc.js": 200, "/frame/boot.js": 200,
		"/assets": 404, "/assets/": 404, "/frame": 404, "/missing": 404, "/index.html/": 404, "/..": 404, "/../secret": 404, "/../../secret": 404, "/assets/../../secret": 404,
		"/..\\secret": 404, "/%2e%2e/secret": 404, "/\x00": 404, "/assets/\xff": 404, "//etc/passwd": 404, "/./": 404, "/frame/../index.html": 404, "/.": 404,
	} {
		got := ask(a, "GET", path)
		if got.Code != want || strings.Contains(got.Body.String(), "outside") {
			t.Errorf("%q: %d, not %d", path, got.Code, want)
		}
		if got.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%q: the browser may guess its type", path)
		}
	}
	if got := ask(a, "HEAD", "/"); got.Code != 200 || got.Body.Len() != 0 {
		t.Errorf("HEAD: %d, %d bytes", got.Code, got.Body.Len())
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
		if got := ask(a, method, "/"); got.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, got.Code)
		}
	}
	if got := ask(a, "GET", "/assets/index-abc.js").Header(); !strings.Contains(got.Get("Cache-Control"), "immutable") || !strings.HasPrefix(got.Get("Content-Type"), "text/javascript") {
		t.Errorf("an asset has %v", got)
	}
	if got := ask(a, "GET", "/index.html").Header().Get("Cache-Control"); got != "no-cache" {
		t.Errorf("the page has Cache-Control %q", got)
	}
}

// Through the real listener: nothing that is given without a token holds a secret, and a frame document that was minted is
// fetched once.
func TestNothingPublicHoldsASecret(t *testing.T) {
	r := start(t)
	token := r.token()
	shell := r.shell(r.admitted(token))
	frame := r.openBoard(shell)
	if strings.HasSuffix(frame, "/") || strings.HasSuffix(frame, "/index.html") || !strings.HasPrefix(frame, "/frame/") || len(frame) != len("/frame/")+32 {
		t.Errorf("the frame's path is %s", frame)
	}
	secrets := []string{token, r.secretOfLink()}
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/", 200}, {"HEAD", "/", 200}, {"GET", "/index.html", 200}, {"GET", "/assets/index-abc.js", 200}, {"GET", "/frame/boot.js", 200}, {"GET", "/nothing", 404},
		{"GET", "/pipe", 403}, {"GET", "/exchange", 403}, {"POST", "/", 405}, {"GET", "/assets/../index.html", 404},
		{"HEAD", frame, 405}, {"GET", frame + "/", 404}, {"GET", frame, 200}, {"GET", frame, 410},
	} {
		answer, body := r.ask(c.method, c.path, "", nil)
		if answer.StatusCode != c.want {
			t.Errorf("%s %s: %d, not %d", c.method, c.path, answer.StatusCode, c.want)
		}
		all := body + fmt.Sprint(answer.Header)
		for _, secret := range secrets {
			if strings.Contains(all, secret) {
				t.Errorf("%s %s holds a secret", c.method, c.path)
			}
		}
		if len(answer.Cookies()) > 0 || answer.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s: %v", c.method, c.path, answer.Header)
		}
	}
}
