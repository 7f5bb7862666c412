package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"toolshed/app/api"
)

const (
	helloTimeout = 10 * time.Second // for the first message of a pipe
	maxPages     = 32               // pages admitted at once
	pageGrace    = 3 * time.Second  // for pages to end when the server does
	maxExchange  = 1 << 10          // bytes of an exchange's body
)

// Close codes of the pipe that the page knows.
const (
	codeDenied   = 4401 // the token is not the one of this start
	codeTooMany  = 4429 // maxPages are connected
	closeMessage = "open a fresh link from the terminal"
)

// Server is the browser mode: one listener on the loopback interface.
type Server struct {
	api      *api.API
	assets   *Assets
	gate     *gate
	link     string
	listener net.Listener
	http     *http.Server
	log      *slog.Logger
	pages    chan struct{} // one value for each page that was admitted
	pipes    sync.WaitGroup
	crowd    *crowd
	hello    time.Duration // helloTimeout
	ctx      context.Context
}

// ErrPort means that the port cannot be had: another program has it, or it is kept for the system's own.
var ErrPort = errors.New("the port cannot be used")

// Listen binds a port of 127.0.0.1 (0: any free one) and prepares the page in files. Nothing is served before Run. The
// error is ErrPort if the port cannot be bound.
func Listen(a *api.API, files fs.FS, port int, log *slog.Logger) (*Server, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, fmt.Errorf("serve: %w: %v", ErrPort, err)
	}
	s := &Server{api: a, listener: listener, log: log, pages: make(chan struct{}, maxPages), hello: helloTimeout}
	s.gate, s.link = newGate()
	if s.assets, err = NewAssets(files, a, s.origin()); err != nil {
		listener.Close()
		return nil, err
	}
	s.crowd = &crowd{Listener: listener}
	s.http = &http.Server{
		Handler:                      http.HandlerFunc(s.serve),
		DisableGeneralOptionsHandler: on(checkTarget), // it would answer whatever Host says
		ConnContext:                  withGuest,
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	s.bound()
	return s, nil
}

// maxHeader is more than a browser sends: pages of other ports of this address share its cookies with us, and all the
// cookies that a browser keeps for them must not make a request too large to be served.
const maxHeader = 1 << 20

// bound sets how much and how long a request may be. A pipe has left HTTP when it begins.
func (s *Server) bound() {
	s.http.MaxHeaderBytes = maxHeader
	if !on(checkSize) {
		s.http.MaxHeaderBytes = 1 << 30
	}
	if on(checkSlow) {
		s.http.ReadHeaderTimeout = 10 * time.Second
		s.http.ReadTimeout = 30 * time.Second
		s.http.WriteTimeout = time.Minute
		s.http.IdleTimeout = 2 * time.Minute
	}
}

// serve is the only way in. It refuses every request that is not for this server: one that names another host is how a
// foreign name made to point here arrives.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	harmless(w.Header())
	switch {
	case !strings.HasPrefix(r.RequestURI, "/") && on(checkTarget):
		http.Error(w, "only a path is served here", http.StatusBadRequest)
	case r.Host != s.host() && on(checkHost):
		http.Error(w, "this address serves nothing under that name", http.StatusMisdirectedRequest)
	case r.URL.Path == "/pipe":
		s.pipe(w, r)
	case r.URL.Path == "/exchange":
		s.exchange(w, r)
	default:
		s.assets.ServeHTTP(w, r)
	}
}

// host is what a browser calls this server: it leaves the port out when it is HTTP's own.
func (s *Server) host() string   { return strings.TrimSuffix(s.listener.Addr().String(), ":80") }
func (s *Server) origin() string { return "http://" + s.host() }

// Link is the address to open in a browser. It works once.
func (s *Server) Link() string { return s.origin() + "/#" + s.link }

// Run serves until ctx ends, and returns after the pages' connections have ended. It is called once.
func (s *Server) Run(ctx context.Context) error {
	s.ctx = ctx
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.Background(), pageGrace)
		defer cancel()
		if s.http.Shutdown(grace) != nil {
			s.http.Close()
		}
	}()
	err := s.http.Serve(s.crowd)
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	<-stopped
	ended := make(chan struct{})
	go func() {
		s.pipes.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(pageGrace): // a page that does not read holds its connection for longer; it holds nothing else
	}
	return nil
}

// ours says whether the request was made by the page's own script: a browser writes Origin, and no page can change it.
func (s *Server) ours(r *http.Request) bool {
	origin := r.Header["Origin"]
	return len(origin) == 1 && origin[0] == s.origin()
}

// exchanges says whether the request is the page's exchange. What a form can post is none, whoever says so.
func (s *Server) exchanges(r *http.Request) bool {
	return r.Method == http.MethodPost && s.ours(r) && r.Header.Get("Content-Type") == "application/json"
}

func (s *Server) exchange(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if !s.exchanges(r) && on(checkExchange) {
		http.Error(w, "refused", http.StatusForbidden)
		return
	}
	var body struct {
		Link string `json:"link"`
	}
	text := r.Body
	if on(checkSize) {
		text = http.MaxBytesReader(w, r.Body, maxExchange)
	}
	if err := json.NewDecoder(text).Decode(&body); err != nil {
		http.Error(w, "not an exchange", http.StatusBadRequest)
		return
	}
	token, used := s.gate.exchange(body.Link)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case token != "":
		writeJSON(w, http.StatusOK, map[string]string{"token": token})
	case used:
		writeJSON(w, http.StatusGone, map[string]string{"what": "This link was used already", "why": "a link opens Toolshed once, in one browser tab", "todo": "Go back to that tab, or stop `toolshed serve` and start it again for a fresh link."})
	default:
		writeJSON(w, http.StatusGone, map[string]string{"what": "This link is not known here", "why": "it belongs to an earlier start of Toolshed", "todo": "Open the link that `toolshed serve` printed last."})
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a page that is gone needs no answer
}

func (s *Server) pipe(w http.ResponseWriter, r *http.Request) {
	if !s.ours(r) && on(checkPipe) {
		http.Error(w, "refused", http.StatusForbidden)
		return
	}
	s.pipes.Add(1)
	defer s.pipes.Done()
	// The library's look at Origin lets a request without one pass; ours has been stricter.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow()
	if !s.admit(conn) {
		conn.Close(codeDenied, closeMessage)
		return
	}
	select { // only now: whoever has no token must not take a page's place
	case s.pages <- struct{}{}:
		defer func() { <-s.pages }()
	default:
		conn.Close(codeTooMany, "too many pages")
		return
	}
	letIn(r.Context())
	if conn.Write(s.ctx, websocket.MessageText, []byte(`{"ok":true}`)) != nil {
		return
	}
	conn.SetReadLimit(maxMessage)
	err = s.api.Serve(s.ctx, NewTransport(conn))
	if err != nil && !errors.Is(err, io.EOF) && s.ctx.Err() == nil {
		s.log.Warn("a page's connection ended", "error", err)
	}
}

// admit waits for the token, which is the first message, and says whether it is the right one.
func (s *Server) admit(conn *websocket.Conn) bool {
	ctx := s.ctx
	if on(checkSlow) {
		limited, cancel := context.WithTimeout(s.ctx, s.hello)
		defer cancel()
		ctx = limited
	}
	conn.SetReadLimit(maxMessage)
	if on(checkSize) {
		conn.SetReadLimit(maxExchange)
	}
	_, hello, err := conn.Read(ctx)
	return err == nil && (s.gate.admits(hello) || !on(checkToken))
}
