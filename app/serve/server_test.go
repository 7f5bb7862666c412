package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"toolshed/app/api"
)

// ask makes a request with every header as given, and returns the answer with its body read.
func (r *running) ask(method, path, body string, header map[string]string) (*http.Response, string) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(within(r.t), method, "http://"+r.listener.Addr().String()+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for name, value := range header {
		if name == "Host" {
			request.Host = value
		} else {
			request.Header.Set(name, value)
		}
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer, string(text)
}

// A page of another port of this address can set as many cookies for it as a browser keeps, 180 of 4 KiB, and the browser
// sends them here with every request: that must not lock the page out.
func TestCookiesOfOtherPortsLockNobodyOut(t *testing.T) {
	r := start(t)
	cookies := strings.TrimSuffix(strings.Repeat("n="+strings.Repeat("x", 4094)+"; ", 180), "; ")
	if answer, body := r.ask("GET", "/", "", map[string]string{"Cookie": cookies}); answer.StatusCode != http.StatusOK || !thePageIn(body) {
		t.Errorf("the page: %d", answer.StatusCode)
	}
	conn, _, err := r.dial(func(h http.Header) { h.Set("Cookie", cookies) })
	if err != nil || !welcomed(r, conn, `{"token":"`+r.token()+`"}`) {
		t.Errorf("the pipe: %v", err)
	}
}

func TestTheHostOnPort80HasNoPort(t *testing.T) {
	s := &Server{listener: addressOnly("127.0.0.1:80")}
	if s.origin() != "http://127.0.0.1" {
		t.Error(s.origin())
	}
	s.listener = addressOnly("127.0.0.1:8080")
	if s.origin() != "http://127.0.0.1:8080" {
		t.Error(s.origin())
	}
}

type addressOnly string

func (a addressOnly) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (a addressOnly) Close() error              { return nil }
func (a addressOnly) Addr() net.Addr            { return a }
func (a addressOnly) Network() string           { return "tcp" }
func (a addressOnly) String() string            { return string(a) }

// foreign are the origins of pages that are not ours.
func (r *running) foreign() map[string]string {
	_, port, _ := net.SplitHostPort(r.host())
	return map[string]string{
		"none": "", "null": "null", "another site": "https://evil.example", "another port": "http://127.0.0.1:1",
		"another scheme": "https://" + r.host(), "another name": "http://localhost:" + port, "longer": r.origin() + ".evil.example", "with a slash": r.origin() + "/",
	}
}

func TestALinkWorksOnce(t *testing.T) {
	r := start(t)
	post := func(body string) (*http.Response, map[string]string) {
		answer, text := r.ask("POST", "/exchange", body, map[string]string{"Origin": r.origin(), "Content-Type": "application/json"})
		var fields map[string]string
		_ = json.Unmarshal([]byte(text), &fields)
		return answer, fields
	}
	for body, want := range map[string]int{"": 400, "{": 400, "[]": 400, `{"link":7}`: 400, `{"link":"` + strings.Repeat("a", maxExchange) + `"}`: 400, `{}`: 410, `{"link":""}`: 410, `{"link":"` + strings.Repeat("0", 64) + `"}`: 410} {
		if answer, fields := post(body); answer.StatusCode != want || fields["token"] != "" {
			t.Errorf("%.40s: %d %v", body, answer.StatusCode, fields)
		}
	}
	link := `{"link":"` + r.secretOfLink() + `"}`
	answer, fields := post(link)
	token := fields["token"]
	if answer.StatusCode != http.StatusOK || len(token) != 64 || token == r.secretOfLink() {
		t.Fatalf("the link: %d %v", answer.StatusCode, fields)
	}
	if got := answer.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("the token's Cache-Control is %q", got)
	}
	if len(answer.Cookies()) > 0 {
		t.Error("the exchange sets a cookie")
	}
	used, fields := post(link)
	if used.StatusCode != http.StatusGone || fields["token"] != "" || fields["what"] == "" || fields["why"] == "" || fields["todo"] == "" {
		t.Errorf("the link used twice: %d %v", used.StatusCode, fields)
	}
	if _, unknown := post(`{"link":"x"}`); unknown["what"] == fields["what"] {
		t.Errorf("an unknown link reads like a used one: %v", unknown)
	}
	r.admitted(token)
	r.admitted(token) // a reload of the page
}

func TestTokensThatAreRefused(t *testing.T) {
	earlier := start(t)
	old := earlier.token()
	earlier.admitted(old)
	earlier.stop()

	r := start(t)
	refused := func(when string, hellos map[string]string) {
		for name, hello := range hellos {
			_, answer, err := r.hello(hello)
			if websocket.CloseStatus(err) != codeDenied || answer != "" {
				t.Errorf("%s, %s: %q, %v", when, name, answer, err)
			}
		}
	}
	hellos := map[string]string{
		"of an earlier start": `{"token":"` + old + `"}`, "none": `{}`, "empty": `{"token":""}`, "zeros": `{"token":"` + strings.Repeat("0", 64) + `"}`,
		"the link": `{"token":"` + r.secretOfLink() + `"}`, "a list": `[]`, "no JSON": `hello`, "a frame": `0:["pull",1]`, "a number": `{"token":0}`,
	}
	refused("before the link was used", hellos)
	token := r.token()
	refused("after", hellos)
	r.admitted(token)
}

func TestHellosThatAreTooLargeOrTooLate(t *testing.T) {
	r := start(t, func(s *Server) { s.hello = 200 * time.Millisecond })
	token := r.token()
	if _, answer, err := r.hello(`{"token":"` + token + `","x":"` + strings.Repeat("x", maxExchange) + `"}`); err == nil {
		t.Errorf("a hello of more than %d bytes: %q", maxExchange, answer)
	}
	conn, _, err := r.dial()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, _, err := conn.Read(within(t)); err == nil {
		t.Error("a page that said nothing was told something")
	}
	if late := time.Since(began); late > 5*time.Second {
		t.Errorf("a page that said nothing was kept for %v", late)
	}
	r.admitted(token)
}

// Whoever has no token cannot take the place of a page that has one.
func TestPagesWithoutATokenTakeNoPlace(t *testing.T) {
	r := start(t)
	token := r.token()
	for range maxPages + 1 {
		if _, _, err := r.dial(); err != nil {
			t.Fatal(err)
		}
	}
	var last *websocket.Conn
	for range maxPages {
		last = r.admitted(token)
	}
	if _, answer, err := r.hello(`{"token":"` + token + `"}`); websocket.CloseStatus(err) != codeTooMany {
		t.Errorf("page %d: %q, %v", maxPages+1, answer, err)
	}
	last.CloseNow()
	eventually(t, "a page that has gone gives up its place", func() bool {
		_, answer, _ := r.hello(`{"token":"` + token + `"}`)
		return answer == `{"ok":true}`
	})
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 1000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s: not within 10 s", what)
}

func TestFramesThatEndThePipe(t *testing.T) {
	r := start(t)
	token := r.token()
	for name, send := range map[string]func(*websocket.Conn) error{
		"more than 32 MiB": func(c *websocket.Conn) error {
			return c.Write(within(t), websocket.MessageText, append([]byte("0:"), bytes.Repeat([]byte(" "), maxMessage)...))
		},
		"binary":       func(c *websocket.Conn) error { return c.Write(within(t), websocket.MessageBinary, []byte("0:[]")) },
		"no channel":   func(c *websocket.Conn) error { return c.Write(within(t), websocket.MessageText, []byte(`["pull",1]`)) },
		"no number":    func(c *websocket.Conn) error { return c.Write(within(t), websocket.MessageText, []byte("x:[]")) },
		"negative":     func(c *websocket.Conn) error { return c.Write(within(t), websocket.MessageText, []byte("-1:[]")) },
		"not protocol": func(c *websocket.Conn) error { return c.Write(within(t), websocket.MessageText, []byte("0:nonsense")) },
		"shell closed": func(c *websocket.Conn) error { return c.Write(within(t), websocket.MessageText, []byte("0:")) },
	} {
		conn := r.admitted(token)
		_ = send(conn) // it may be refused before all of it is written
		for {
			if _, _, err := conn.Read(within(t)); err != nil {
				if errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: the pipe stayed open", name)
				}
				break
			}
		}
	}
	r.admitted(token) // and nobody else is the worse for it
}

func TestAnUnknownChannelIsIgnored(t *testing.T) {
	r := start(t)
	conn := r.admitted(r.token())
	for _, frame := range []string{"7:[]", "7:", "999999999:x"} {
		if err := conn.Write(within(t), websocket.MessageText, []byte(frame)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.shell(conn).Call(within(t), "state").Await(within(t)); err != nil {
		t.Error(err)
	}
}

func TestAPageThatDoesNotReadIsClosed(t *testing.T) {
	r := start(t)
	token := r.token()
	conn := r.admitted(token)
	r.api.Notify(api.Notice{ID: "large", Level: "info", Text: strings.Repeat("x", 8<<20)})
	ctx := within(t)
	for n := range 12 { // of 8 MiB each, none of them read
		call := fmt.Sprintf(`0:["push",["pipeline",0,["state"],[]]]`)
		if err := conn.Write(ctx, websocket.MessageText, []byte(call)); err != nil {
			break
		}
		if err := conn.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `0:["pull",%d]`, n+1)); err != nil {
			break
		}
	}
	eventually(t, "its place is free again", func() bool { return len(r.pages) == 0 })
	other := r.shell(r.admitted(token))
	if _, err := other.Call(ctx, "state").Await(ctx); err != nil {
		t.Errorf("another page: %v", err)
	}
}

func TestRunEndsWithItsPages(t *testing.T) {
	r := start(t)
	conn := r.admitted(r.token())
	r.openBoard(r.shell(conn))
	began := time.Now()
	r.stop()
	if took := time.Since(began); took > pageGrace+time.Second {
		t.Errorf("it took %v", took)
	}
	if n := len(r.pages); n != 0 {
		t.Errorf("%d pages are still served", n)
	}
	if _, err := net.Dial("tcp", r.host()); err == nil {
		t.Error("the port is still open")
	}
}

func TestATakenPortIsSaid(t *testing.T) {
	r := start(t)
	port := r.listener.Addr().(*net.TCPAddr).Port
	if _, err := Listen(r.api, thePage, port, r.log); !errors.Is(err, ErrPort) {
		t.Errorf("got %v, want ErrPort", err)
	}
}
