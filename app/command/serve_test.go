package command

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"toolshed/app"
	"toolshed/app/overseer"
)

// background runs a command until stop is called, which returns its exit code.
func (s *terminal) background(args ...string) (out *output, stop func() int) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out = &output{}
	env := s.env
	env.Stdout, env.Stderr = out, &output{}
	code := make(chan int, 1)
	go func() { code <- Main(ctx, append(args, "--data", s.data), env) }()
	stop = func() int {
		cancel()
		select {
		case c := <-code:
			code <- c
			return c
		case <-time.After(20 * time.Second):
			s.t.Error("the command does not end")
			return -1
		}
	}
	s.t.Cleanup(func() { stop() })
	return out, stop
}

// link waits for the link that serve prints.
func link(t *testing.T, out *output) *url.URL {
	t.Helper()
	for range 1000 {
		for _, word := range strings.FieldsFunc(out.String(), func(r rune) bool { return strings.ContainsRune(" \n\"", r) }) {
			if u, err := url.Parse(word); err == nil && u.Scheme == "http" && len(u.Fragment) == 64 {
				return u
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no link in %q", out.String())
	return nil
}

func TestServe(t *testing.T) {
	s := newTerminal(t)
	m := s.gadget(sums)
	for i, args := range [][]string{{"serve"}, {"serve", "--json"}, {"open"}, {}} { // without a window, open serves
		out, stop := s.background(args...)
		u := link(t, out)
		answer, err := http.Get("http://" + u.Host)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if host, _, _ := net.SplitHostPort(u.Host); answer.StatusCode != 200 || host != "127.0.0.1" {
			t.Errorf("%v: %s answers %d", args, u.Host, answer.StatusCode)
		}
		if got := s.run("call", m.Gadget, "add", "0"); got.code != exitOK || got.out != "0\n" {
			t.Errorf("%v: a call meanwhile: %d %s%s", args, got.code, got.out, got.errors)
		}
		if i == 0 {
			if got := s.run("check"); got.code != exitOK {
				t.Errorf("check meanwhile: %d %s%s", got.code, got.out, got.errors)
			}
			s.refused(exitData, "in-use", "serve")
			s.refused(exitFailed, "no-window", "open")
		}
		if code := stop(); code != exitOK {
			t.Errorf("%v ended with %d", args, code)
		}
		if _, err := net.Dial("tcp", u.Host); err == nil {
			t.Errorf("%v: the port is still open", args)
		}
	}
}

func TestServeOnAPortThatIsTaken(t *testing.T) {
	s := newTerminal(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	s.refused(exitFailed, "port", "serve", "--port", port)
	if got := s.run("list"); got.code != exitOK {
		t.Errorf("afterwards the folder is not free: %d %s", got.code, got.errors)
	}
}

func TestOpenWithAWindow(t *testing.T) {
	s := newTerminal(t)
	shown, raised := make(chan bool, 1), make(chan bool, 1)
	s.env.Window = func(ctx context.Context, p *app.Program, page fs.FS) error {
		p.API.OnRaise(func() { raised <- true })
		shown <- true
		<-ctx.Done()
		return nil
	}
	_, stop := s.background()
	<-shown
	if got := s.run("open"); got.code != exitOK || len(raised) != 1 || len(shown) != 0 {
		t.Errorf("a second start: %d %s; raised %d times", got.code, got.errors, len(raised))
	}
	if code := stop(); code != exitOK {
		t.Errorf("it ended with %d", code)
	}
	out, stop := s.background("serve")
	link(t, out)
	var shownInstead *overseer.Problem
	s.env.Trouble = func(_ context.Context, p *overseer.Problem) error {
		shownInstead = p
		return nil
	}
	if got := s.run("open"); got.code != exitFailed || len(shown) > 0 {
		t.Errorf("a start beside serve: %d %s", got.code, got.errors)
	}
	if shownInstead == nil || shownInstead.Kind != "no-window" {
		t.Errorf("a start beside `serve` shows %+v", shownInstead)
	}
	stop()
	s.env.Window = func(context.Context, *app.Program, fs.FS) error { return errors.New("no display") }
	if got := s.run("open"); got.code != exitFailed || !strings.Contains(got.errors, "no display") {
		t.Errorf("a window that fails: %d %s", got.code, got.errors)
	}
}
