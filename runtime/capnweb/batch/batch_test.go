package batch

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolshed/runtime/capnweb"
)

func target() capnweb.Target {
	return capnweb.Methods{
		"square": func(_ context.Context, a []any) (any, error) { n := a[0].(float64); return n * n, nil },
		"makeCounter": func(_ context.Context, a []any) (any, error) {
			n := a[0].(float64)
			return capnweb.Methods{"increment": func(_ context.Context, a []any) (any, error) { n += a[0].(float64); return n, nil }}, nil
		},
		"incrementCounter": func(ctx context.Context, a []any) (any, error) {
			return a[0].(*capnweb.Stub).Call(ctx, "increment", a[1]), nil
		},
		"slow": func(ctx context.Context, a []any) (any, error) {
			v := a[0]
			return capnweb.Async(ctx, func(context.Context) (any, error) { time.Sleep(5 * time.Millisecond); return v, nil }), nil
		},
		"never": func(ctx context.Context, _ []any) (any, error) {
			return capnweb.Async(ctx, func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() }), nil
		},
		"promised": func(ctx context.Context, _ []any) (any, error) {
			return []any{capnweb.Async(ctx, func(context.Context) (any, error) { return "late", nil })}, nil
		},
		"fail": func(context.Context, []any) (any, error) {
			return nil, &capnweb.Error{Name: "RangeError", Message: "bad"}
		},
		"big":  func(context.Context, []any) (any, error) { return strings.Repeat("x", 5000), nil },
		"call": func(ctx context.Context, a []any) (any, error) { return a[0].(*capnweb.Stub).Call(ctx, ""), nil },
	}
}

func serve(t *testing.T, o *Options) string {
	srv := httptest.NewServer(Handler(func(*http.Request) any { return target() }, o))
	t.Cleanup(srv.Close)
	return srv.URL
}

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	r, err := http.Post(url, "text/plain", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

func TestStatus(t *testing.T) {
	url := serve(t, &Options{MaxBody: 2000, Timeout: 200 * time.Millisecond})
	push := func(call string) string { return `["push",["pipeline",0,` + call + `]]` + "\n" + `["pull",1]` }
	cases := []struct {
		name, body string
		status     int
		want       string
	}{
		{"a call", push(`["square"],[5]`), 200, `["resolve",1,25]`},
		{"not pulled", `["push",["pipeline",0,["square"],[5]]]`, 200, ""},
		{"nothing", "", 200, ""},
		{"later", push(`["slow"],[5]`), 200, `["resolve",1,5]`},
		{"a promise in the answer", push(`["promised"],[]`), 200, `["resolve",1,[[["promise",-1]]]]` + "\n" + `["resolve",-1,"late"]`},
		{"thrown", push(`["fail"],[]`), 200, `["reject",1,["error","RangeError","bad"]]`},
		{"not a message", "hello", 200, `["abort",["error","TypeError","bad RPC message: not valid JSON"]]`},
		{"a callback", push(`["call"],[["export",-1]]`), 504, "Gateway Timeout\n"},
		{"never done", push(`["never"],[]`), 504, "Gateway Timeout\n"},
		{"too large", strings.Repeat("x", 2001), 413, "Request Entity Too Large\n"},
		{"too large an answer", push(`["big"],[]`), 500, "Internal Server Error\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if status, text := post(t, url, c.body); status != c.status || text != c.want {
				t.Errorf("got %d %q, want %d %q", status, text, c.status, c.want)
			}
		})
	}
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusMethodNotAllowed || r.Header.Get("Allow") != "POST" {
		t.Errorf("GET is answered %d %v", r.StatusCode, r.Header)
	}
}

// batchOf makes the calls of the official suite's batch in one request.
func batchOf(t *testing.T, url string) {
	t.Helper()
	b := New(nil, url, nil)
	m := b.Main()
	defer m.Dispose()
	square := m.Call(t.Context(), "square", 6)
	counter := m.Call(t.Context(), "makeCounter", 2)
	inc := counter.Call(t.Context(), "increment", 3)
	handed := m.Call(t.Context(), "incrementCounter", counter, 4)
	failed := m.Call(t.Context(), "fail")
	forgotten := m.Call(t.Context(), "square", 1)
	if err := b.Do(t.Context(), square, inc, handed, failed); err != nil {
		t.Fatal(err)
	}
	for i, want := range []any{36.0, 5.0, 9.0} {
		if v, err := []*capnweb.Promise{square, inc, handed}[i].Await(t.Context()); err != nil || v != want {
			t.Errorf("call %d gave %v %v, want %v", i, v, err, want)
		}
	}
	if _, err := failed.Await(t.Context()); err == nil || err.Error() != "RangeError: bad" {
		t.Errorf("the failed call gave %v", err)
	}
	if _, err := forgotten.Await(t.Context()); !errors.Is(err, ErrEnded) {
		t.Errorf("a call whose result was not asked for gave %v", err)
	}
	if _, err := m.Call(t.Context(), "square", 1).Await(t.Context()); !errors.Is(err, ErrEnded) {
		t.Errorf("a call after the batch gave %v", err)
	}
}

func TestClient(t *testing.T) { batchOf(t, serve(t, nil)) }

// TestOfficialServer sends a batch of this client to the official server.
func TestOfficialServer(t *testing.T) {
	modules := os.Getenv("TOOLSHED_NODE_MODULES")
	if modules == "" {
		modules, _ = filepath.Abs("../../../frontend/node_modules")
	}
	_, err := os.Stat(filepath.Join(modules, "capnweb"))
	if _, noNode := exec.LookPath("node"); err != nil || noNode != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("node or the npm package capnweb is missing")
		}
		t.Skip("node or the npm package capnweb is missing: run make setup")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "../testdata/server.mjs")
	cmd.Env = append(os.Environ(), "TOOLSHED_NODE_MODULES="+modules)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = cmd.Wait()
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	batchOf(t, strings.Replace(strings.TrimSpace(address), "ws:", "http:", 1))
}

func TestClientErrors(t *testing.T) {
	cases := map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"status":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, "batch: the server answered 503 Service Unavailable"},
		"too large":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 3000)) }, errTooLarge.Error()},
		"not a batch": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "bad RPC message: not valid JSON"},
		"abort": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`["abort",["error","Error","no"]]`))
		}, "no"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(c.answer)
			defer srv.Close()
			b := New(srv.Client(), srv.URL, &Options{MaxBody: 2000})
			m := b.Main()
			defer m.Dispose()
			p := m.Call(t.Context(), "x")
			if err := b.Do(t.Context(), p); err == nil || err.Error() != c.want {
				t.Errorf("the batch ended with %v, want %s", err, c.want)
			}
			if _, err := p.Await(t.Context()); err == nil {
				t.Error("the call did not fail")
			}
		})
	}
}
