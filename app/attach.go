package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"toolshed/app/api"
	"toolshed/runtime/capnweb"
)

const (
	maxAttached    = 64       // command-line clients at once
	maxAttachFrame = 32 << 20 // bytes of one message
	dialTimeout    = 2 * time.Second
	closeGrace     = 5 * time.Second // for clients to get the answers they wait for
)

// ErrNotRunning means that no Toolshed listens for this data folder.
var ErrNotRunning = errors.New("no Toolshed is running on this data folder")

// ErrNotPrivate means that the folder for sockets can be opened by others, so that neither side uses it.
var ErrNotPrivate = errors.New("the folder for sockets is not private")

// socketPath is where the program that holds the data folder listens: in a folder that is this user's own, under a name
// made from the data folder's, because a socket's path must be short.
func socketPath(data string) (string, error) {
	data, err := filepath.Abs(data)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(data); err == nil {
		data = real
	}
	sum := sha256.Sum256([]byte(data))
	return filepath.Join(runtimeFolder(), hex.EncodeToString(sum[:8])+".sock"), nil
}

func runtimeFolder() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "toolshed")
	}
	if runtime.GOOS == "windows" {
		if dir, err := os.UserCacheDir(); err == nil {
			return filepath.Join(dir, "Toolshed", "run")
		}
	}
	return filepath.Join(os.TempDir(), "toolshed-"+strconv.Itoa(os.Getuid()))
}

// socket is the listener for the command line. Whoever may connect is the same user; what they may do is the role of
// api.CommandLine.
type socket struct {
	listener net.Listener
	cancel   context.CancelFunc
	done     chan struct{}
	clients  sync.WaitGroup
}

func listen(ctx context.Context, data string, a *api.API, log *slog.Logger) (*socket, error) {
	path, err := socketPath(data)
	if err != nil {
		return nil, err
	}
	if err := privateFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	// A socket that a killed program left behind: the data folder's lock says that nobody is listening on it.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("app: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("app: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return nil, fmt.Errorf("app: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &socket{listener: listener, cancel: cancel, done: make(chan struct{})}
	go s.accept(ctx, a, log)
	return s, nil
}

// privateFolder makes the folder with mode 0700, or checks that one that is there is this user's and closed to others.
func privateFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("app: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	return checkPrivate(dir, info)
}

func checkPrivate(dir string, info fs.FileInfo) error {
	if !info.IsDir() || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 || !ownedByUs(info) {
		return fmt.Errorf("app: %w: %s must be a folder of yours with mode 0700", ErrNotPrivate, dir)
	}
	return nil
}

func (s *socket) accept(ctx context.Context, a *api.API, log *slog.Logger) {
	defer close(s.done)
	slots := make(chan struct{}, maxAttached)
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		select {
		case slots <- struct{}{}:
		default:
			conn.Close()
			continue
		}
		s.clients.Add(1)
		go func() {
			defer s.clients.Done()
			defer func() { <-slots }()
			defer conn.Close()
			if err := sameUser(conn); err != nil {
				log.Warn("refused a command-line client", "error", err)
				return
			}
			_ = a.Attach(ctx, capnweb.NewLineTransport(conn, maxAttachFrame)) // a client that has gone is no news
		}()
	}
}

func (s *socket) close() {
	s.listener.Close() // removes the socket's file
	<-s.done
	grace := time.AfterFunc(closeGrace, s.cancel)
	defer grace.Stop()
	s.clients.Wait()
	s.cancel()
}

// Attach connects to the Toolshed that holds the data folder. The error is ErrNotRunning if there is none, and
// ErrNotPrivate if the socket may be somebody else's.
func Attach(ctx context.Context, data string) (*api.Client, error) {
	path, err := socketPath(data)
	if err != nil {
		return nil, err
	}
	folder, err := os.Lstat(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNotRunning, err)
	}
	if err := checkPrivate(filepath.Dir(path), folder); err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNotRunning, err)
	}
	if err := sameUser(conn); err != nil {
		conn.Close()
		return nil, fmt.Errorf("app: %w: at %s: %v", ErrNotPrivate, path, err)
	}
	return api.NewClient(capnweb.NewLineTransport(conn, maxAttachFrame)), nil
}

// Client returns a command-line client of this program itself, for a command that opened it for its own use.
func (p *Program) Client(ctx context.Context) *api.Client {
	near, far := capnweb.Pipe()
	go func() { _ = p.API.Attach(ctx, far) }() // it ends when the client closes its side
	return api.NewClient(near)
}
