package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// attack is something that other programs, other users of this computer, and pages of other ports or sites can try at the
// level of HTTP. What only a browser can show is in frontend/e2e/foreign.test.mjs.
type attack struct {
	name  string
	check check                 // it alone stops the attack
	works func(r *running) bool // tries it on a server that was just started, and says whether it got what it is after
}

// attacks are all of them.
func attacks() []attack {
	return lists(hostAttacks(), requestAttacks(), originAttacks(), linkAttacks(), tokenAttacks(), frameAttacks(), sizeAttacks(), patienceAttacks())
}

func lists(all ...[]attack) (out []attack) {
	for _, some := range all {
		out = append(out, some...)
	}
	return out
}

func TestNoAttackWorks(t *testing.T) {
	for _, a := range attacks() {
		t.Run(string(a.check)+"/"+a.name, func(t *testing.T) {
			if a.tried(t) {
				t.Error("it works")
			}
		})
	}
}

func (a attack) tried(t *testing.T) bool {
	if a.check == checkSlow {
		return a.works(start(t, hasty))
	}
	return a.works(start(t))
}

// hasty shortens the patience of a server that has some, so that its end is seen soon, and counts who arrives.
func hasty(s *Server) {
	s.crowd.Listener = &door{Listener: s.crowd.Listener}
	s.hello = 300 * time.Millisecond
	for _, limit := range []*time.Duration{&s.http.ReadHeaderTimeout, &s.http.ReadTimeout, &s.http.WriteTimeout, &s.http.IdleTimeout} {
		if *limit > 0 {
			*limit = 300 * time.Millisecond
		}
	}
}

// thePageIn says whether an answer holds the page.
func thePageIn(text string) bool { return strings.Contains(text, "<title>the page</title>") }

// raw sends bytes as they are over a connection of its own and returns the status (0: none) and what comes after it. A
// server that waits for more is not waited for.
func (r *running) raw(text string) (int, string) {
	r.t.Helper()
	conn := r.connect()
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		return 0, ""
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, ""
	}
	body, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, fmt.Sprint(answer.Header) + string(body)
}

func (r *running) connect() net.Conn {
	r.t.Helper()
	conn, err := net.DialTimeout("tcp", r.listener.Addr().String(), 10*time.Second)
	if err != nil {
		r.t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	r.t.Cleanup(func() { conn.Close() })
	return conn
}

func (r *running) port() string {
	_, port, _ := net.SplitHostPort(r.listener.Addr().String())
	return port
}

// A foreign name that was made to point here (DNS rebinding) arrives in Host: its page would be of one origin with ours.
func hostAttacks() (out []attack) {
	for name, host := range map[string]string{
		"another name": "evil.example", "another name with our port": "evil.example:%s", "localhost": "localhost:%s", "no port": "127.0.0.1",
		"another port": "127.0.0.1:1", "IPv6": "[::1]:%s", "IPv6 that holds IPv4": "[::ffff:127.0.0.1]:%s", "a dot after it": "127.0.0.1.:%s", "all of 127": "127.1:%s",
		"hexadecimal": "0x7f000001:%s", "a zero before the port": "127.0.0.1:0%s", "longer": "127.0.0.1:%s.evil.example", "any address": "0.0.0.0:%s",
	} {
		out = append(out, attack{"rebinding: " + name, checkHost, func(r *running) bool {
			host := strings.ReplaceAll(host, "%s", r.port())
			_, body := r.raw("GET / HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n")
			return thePageIn(body)
		}})
	}
	return append(out, attack{"no name, as in the first HTTP", checkHost, func(r *running) bool {
		_, body := r.raw("GET / HTTP/1.0\r\n\r\n")
		return thePageIn(body)
	}})
}

// Requests that are not what a browser sends to get the page.
func requestAttacks() []attack {
	target := func(name, line, host string) attack {
		return attack{name, checkTarget, func(r *running) bool {
			line, host := strings.ReplaceAll(line, "%s", r.host()), strings.ReplaceAll(host, "%s", r.host())
			code, _ := r.raw(line + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n")
			return code == http.StatusOK
		}}
	}
	out := []attack{
		target("an address instead of a path, which is believed more than Host", "GET http://%s/", "evil.example"),
		target("an address of a scheme that is not spoken here", "GET https://%s/", "%s"),
		target("options of the whole server, which no Host guards", "OPTIONS *", "evil.example"),
		{"HEAD uses a frame document up", checkMethod, func(r *running) bool {
			frame := r.openBoard(r.shell(r.admitted(r.token())))
			r.ask("HEAD", frame, "", nil)
			answer, _ := r.ask("GET", frame, "", nil)
			return answer.StatusCode != http.StatusOK
		}},
		{"a file whose bytes look like a page is one", checkKind, func(r *running) bool {
			answer, _ := r.ask("GET", "/assets/looks", "", nil)
			return strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") && answer.Header.Get("X-Content-Type-Options") == ""
		}},
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get", "PROPFIND"} {
		out = append(out, attack{"the page for " + method, checkMethod, func(r *running) bool {
			answer, body := r.ask(method, "/", "", nil)
			return answer.StatusCode == http.StatusOK && thePageIn(body)
		}})
	}
	// A gadget's frame may navigate to what begins with /frame/: nothing there may be the page, nor lead to it.
	for _, path := range []string{"/frame/..%2findex.html", "/frame/..%2F", "/frame/%2e%2e/index.html", "/frame/../index.html", "/frame//../index.html", "/frame/.%2e/", "/frame/x/../../index.html", "/%66rame/..//index.html"} {
		out = append(out, attack{"the page at " + path, checkPath, func(r *running) bool {
			code, body := r.raw("GET " + path + " HTTP/1.1\r\nHost: " + r.host() + "\r\nConnection: close\r\n\r\n")
			return thePageIn(body) || code >= 300 && code < 400
		}})
	}
	return out
}

// foreign are the origins of pages that are not ours; port stands for our own.
var foreign = map[string]string{
	"nobody": "", "a frame without an origin": "null", "another site": "https://evil.example", "another port": "http://127.0.0.1:1", "another scheme": "https://127.0.0.1:port",
	"another name": "http://localhost:port", "a longer name": "http://127.0.0.1:port.evil.example", "with a slash": "http://127.0.0.1:port/", "with a user": "http://x@127.0.0.1:port", "a list": "http://127.0.0.1:port http://evil.example",
}

// Foreign pages that know a link or a token, and what a form or an image can send by itself.
func originAttacks() (out []attack) {
	for name, origin := range foreign {
		headers := func(r *running, with map[string]string) map[string]string {
			if origin != "" {
				with["Origin"] = strings.ReplaceAll(origin, "port", r.port())
			}
			return with
		}
		out = append(out, attack{"exchange by " + name, checkExchange, func(r *running) bool {
			return r.exchanged("POST", headers(r, map[string]string{"Content-Type": "application/json"}))
		}}, attack{"pipe of " + name + " who knows the token", checkPipe, func(r *running) bool {
			token := r.token()
			conn, _, err := r.dial(func(h http.Header) {
				h.Del("Origin")
				for name, value := range headers(r, map[string]string{}) {
					h.Set(name, value)
				}
			})
			return err == nil && welcomed(r, conn, `{"token":"`+token+`"}`)
		}})
	}
	for _, kind := range []string{"", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", "text/plain; application/json", "application/json; charset=x"} {
		out = append(out, attack{"exchange of what a form can post: " + kind, checkExchange, func(r *running) bool {
			return r.exchanged("POST", map[string]string{"Origin": r.origin(), "Content-Type": kind})
		}})
	}
	for _, method := range []string{"GET", "PUT", "DELETE", "OPTIONS"} {
		out = append(out, attack{"exchange by " + method, checkExchange, func(r *running) bool {
			return r.exchanged(method, map[string]string{"Origin": r.origin(), "Content-Type": "application/json"})
		}})
	}
	return append(out, attack{"exchange with two origins", checkExchange, func(r *running) bool {
		body := `{"link":"` + r.secretOfLink() + `"}`
		_, text := r.raw("POST /exchange HTTP/1.1\r\nHost: " + r.host() + "\r\nOrigin: " + r.origin() + "\r\nOrigin: http://evil.example\r\nContent-Type: application/json\r\n" +
			fmt.Sprintf("Content-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body))
		return strings.Contains(text, "token")
	}})
}

// exchanged sends the right link and says whether a token came back.
func (r *running) exchanged(method string, header map[string]string) bool {
	_, text := r.ask(method, "/exchange", `{"link":"`+r.secretOfLink()+`"}`, header)
	return strings.Contains(text, "token")
}

// welcomed says hello over a pipe and whether it was let in.
func welcomed(r *running, conn *websocket.Conn, hello string) bool {
	if conn.Write(within(r.t), websocket.MessageText, []byte(hello)) != nil {
		return false
	}
	_, answer, err := conn.Read(within(r.t))
	return err == nil && string(answer) == `{"ok":true}`
}

// A link that somebody saw: over a shoulder, in a history, in a log.
func linkAttacks() []attack {
	own := func(r *running) map[string]string {
		return map[string]string{"Origin": r.origin(), "Content-Type": "application/json"}
	}
	return []attack{
		{"a link that was used", checkLink, func(r *running) bool {
			r.token()
			return r.exchanged("POST", own(r))
		}},
		{"a link that was used, in another browser", checkLink, func(r *running) bool {
			r.token()
			header := own(r)
			header["User-Agent"] = "Another/1.0"
			return r.exchanged("POST", header)
		}},
		{"a link used by many at once", checkLink, func(r *running) bool {
			got := make(chan bool)
			for range 16 {
				go func() {
					token, _ := r.gate.exchange(r.secretOfLink())
					got <- token != ""
				}()
			}
			tokens := 0
			for range 16 {
				if <-got {
					tokens++
				}
			}
			return tokens > 1
		}},
	}
}

func tokenAttacks() (out []attack) {
	try := func(name string, hello func(r *running) string) {
		for when, prepare := range map[string]func(r *running){"before the link was used": func(*running) {}, "while somebody is in": func(r *running) { r.admitted(r.token()) }} {
			out = append(out, attack{name + " " + when, checkToken, func(r *running) bool {
				prepare(r)
				conn, _, err := r.dial()
				return err == nil && welcomed(r, conn, hello(r))
			}})
		}
	}
	for name, hello := range map[string]string{"no token": `{}`, "an empty token": `{"token":""}`, "zeros": `{"token":"` + strings.Repeat("0", 64) + `"}`, "a number": `{"token":0}`,
		"a list": `[]`, "nothing": `null`, "no JSON": `hello`, "a frame of the protocol": `0:["pull",1]`, "many tokens": `{"token":["a","b"]}`} {
		try(name, func(*running) string { return hello })
	}
	try("the link as a token", func(r *running) string { return `{"token":"` + r.secretOfLink() + `"}` })
	try("the token of an earlier start", func(r *running) string {
		earlier := start(r.t)
		defer earlier.stop()
		return `{"token":"` + earlier.token() + `"}`
	})
	return out
}

func frameAttacks() (out []attack) {
	for _, path := range []string{"/frame/guess", "/frame/00000000000000000000000000000000", "/frame/x/y"} {
		out = append(out, attack{"a guess: " + path, checkFrame, func(r *running) bool {
			answer, _ := r.ask("GET", path, "", nil)
			return answer.StatusCode == http.StatusOK
		}})
	}
	return append(out, attack{"a frame document for two", checkFrame, func(r *running) bool {
		frame := r.openBoard(r.shell(r.admitted(r.token())))
		r.ask("GET", frame, "", nil)
		answer, _ := r.ask("GET", frame, "", nil)
		return answer.StatusCode == http.StatusOK
	}})
}

// What is larger than anything that a browser sends before it is let in.
func sizeAttacks() []attack {
	return []attack{
		{"headers of 4 MB", checkSize, func(r *running) bool {
			_, body := r.raw("GET / HTTP/1.1\r\nHost: " + r.host() + "\r\nConnection: close\r\nX: " + strings.Repeat("x", 4<<20) + "\r\n\r\n")
			return thePageIn(body)
		}},
		{"an exchange of 1 MB", checkSize, func(r *running) bool {
			_, text := r.ask("POST", "/exchange", `{"x":"`+strings.Repeat("x", 1<<20)+`","link":"`+r.secretOfLink()+`"}`, map[string]string{"Origin": r.origin(), "Content-Type": "application/json"})
			return strings.Contains(text, "token")
		}},
		{"a hello of 1 MB", checkSize, func(r *running) bool {
			token := r.token()
			conn, _, err := r.dial()
			return err == nil && welcomed(r, conn, `{"x":"`+strings.Repeat("x", 1<<20)+`","token":"`+token+`"}`)
		}},
	}
}

// Who keeps connections without saying or taking anything. It works if the server still holds one after six times as long
// as it has patience (hasty).
func patienceAttacks() []attack {
	slow := func(name, begin string) attack {
		return attack{name, checkSlow, func(r *running) bool {
			conn := r.connect()
			_, _ = io.WriteString(conn, strings.ReplaceAll(begin, "%s", r.host()))
			return r.holds()
		}}
	}
	return []attack{
		slow("silence", ""),
		slow("headers without an end", "GET / HTTP/1.1\r\nHost: %s\r\nX"),
		slow("a request, and then silence", "GET / HTTP/1.1\r\nHost: %s\r\n\r\n"),
		slow("a body that never comes", "POST /exchange HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"),
		slow("chunks without an end", "POST /exchange HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"),
		slow("answers that nobody takes", strings.Repeat("GET /assets/large.png HTTP/1.1\r\nHost: %s\r\n\r\n", 4)),
		{"a pipe without a hello", checkSlow, func(r *running) bool {
			if _, _, err := r.dial(); err != nil {
				return false
			}
			return r.holds()
		}},
		{"more connections than a browser opens", checkCrowd, func(r *running) bool {
			for range 2 * maxGuests {
				r.connect()
			}
			for range 40 {
				if r.crowd.count() > maxGuests+1 {
					return true
				}
				time.Sleep(25 * time.Millisecond)
			}
			return false
		}},
	}
}

// door counts how often a connection was asked for: at the second time the first is in the crowd, or was already.
type door struct {
	net.Listener
	asked atomic.Int32
}

func (d *door) Accept() (net.Conn, error) {
	d.asked.Add(1)
	return d.Listener.Accept()
}

// holds says whether the server holds a connection that shows no token for longer than it should.
func (r *running) holds() bool {
	arrived := func() bool { return r.crowd.Listener.(*door).asked.Load() > 1 }
	eventually(r.t, "the connection arrives", arrived)
	for range 40 {
		if r.crowd.count() == 0 {
			return false
		}
		time.Sleep(50 * time.Millisecond)
	}
	return true
}
