package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"toolshed/runtime/host/sandbox"
	"toolshed/runtime/host/wire"
	"toolshed/runtime/storage"
)

const testBuild = "test build"

// TestMain is also the child: the test binary starts itself with the role as its argument.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "gadget-host":
			os.Exit(ChildMain(testBuild))
		case "fake-guest":
			os.Exit(sandbox.Main(testBuild, sandbox.Options{Prelude: fakePrelude}))
		case "unwalled":
			os.Exit(sandbox.Main(testBuild, sandbox.Options{Prelude: fakePrelude, KeepPrivileges: true}))
		case "probe":
			os.Exit(0)
		case "silent": // a child that never says a word
			time.Sleep(time.Hour)
		case "orphan":
			os.Exit(orphanMain())
		}
	}
	code := m.Run()
	os.RemoveAll(cacheDir())
	os.Exit(code)
}

func self(role string) func() (*exec.Cmd, error) {
	return func() (*exec.Cmd, error) {
		exe, err := os.Executable()
		return exec.Command(exe, role), err
	}
}

func fakeConfig() Config {
	return Config{Command: self("fake-guest"), Build: testBuild, CacheDir: cacheDir()}
}

// cacheDir is shared by the tests of a run, so that the engine is compiled once.
var cacheDir = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "host-test-")
	if err != nil {
		panic(err)
	}
	return dir
})

func startChild(t testing.TB, c Config) *Child {
	t.Helper()
	child, err := StartChild(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(child.Close)
	return child
}

// raw talks to an instance without a session, in the fake guest's protocol.
type raw struct {
	*Instance
	t    testing.TB
	next int
	mu   sync.Mutex
	got  map[string]string
	more chan struct{}
	line chan Line
}

func spec(code string) Spec {
	return Spec{ID: "g1", Files: map[string][]byte{"server.js": []byte(code)}, Storage: storage.OpenMemory()}
}

func startRaw(t testing.TB, c *Child, s Spec) (*raw, error) {
	t.Helper()
	r := &raw{t: t, got: map[string]string{}, more: make(chan struct{}, 1), line: make(chan Line, 1000)}
	if s.Console == nil {
		s.Console = func(l Line) {
			select {
			case r.line <- l:
			default:
			}
		}
	}
	r.Instance = c.newInstance(s)
	if err := r.start(t.Context()); err != nil {
		return nil, err
	}
	go func() {
		for {
			m, err := transport{r.Instance}.Receive(context.Background())
			if err != nil {
				return
			}
			id, rest := string(m), ""
			if k := strings.IndexAny(id, "=!"); k >= 0 {
				id, rest = id[:k], id[k:]
			}
			r.mu.Lock()
			r.got[id] = rest
			r.mu.Unlock()
			wire.Signal(r.more)
		}
	}()
	return r, nil
}

func mustStart(t testing.TB, c *Child, code string) *raw {
	t.Helper()
	r, err := startRaw(t, c, spec(code))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *raw) post(method string, arg any) string {
	r.next++
	b, err := json.Marshal([]any{strconv.Itoa(r.next), method, arg})
	if err != nil {
		r.t.Fatal(err)
	}
	_ = transport{r.Instance}.Send(b) // an ended instance shows in answer
	return strconv.Itoa(r.next)
}

// answer waits for the answer to a post; a failure of the instance gives its error.
func (r *raw) answer(id string) (string, error) {
	timeout := time.After(30 * time.Second)
	for {
		r.mu.Lock()
		a, ok := r.got[id]
		r.mu.Unlock()
		if ok {
			if strings.HasPrefix(a, "!") {
				return "", errors.New(a[1:])
			}
			return strings.TrimPrefix(a, "="), nil
		}
		select {
		case <-r.more:
		case <-r.Done():
			r.mu.Lock()
			_, ok := r.got[id]
			r.mu.Unlock()
			if !ok {
				return "", r.Err()
			}
		case <-timeout:
			return "", fmt.Errorf("no answer to %s", id)
		}
	}
}

func (r *raw) call(method string, arg any) (string, error) { return r.answer(r.post(method, arg)) }

func (r *raw) want(method string, arg any, want string) {
	r.t.Helper()
	got, err := r.call(method, arg)
	if err != nil || got != want {
		r.t.Fatalf("%s(%v) = %s, %v; want %s", method, arg, got, err, want)
	}
}

// kind returns the kind of a *Failure, "" for anything else.
func kind(err error) string {
	var f *Failure
	if errors.As(err, &f) {
		return f.Kind
	}
	return ""
}

func TestCall(t *testing.T) {
	for _, c := range []Config{fakeConfig(), {NoImage: true}, {CopyImage: true}} {
		c.Command, c.Build, c.CacheDir = self("fake-guest"), testBuild, cacheDir()
		t.Run(fmt.Sprintf("noimage=%v,copy=%v", c.NoImage, c.CopyImage), func(t *testing.T) {
			child := startChild(t, c)
			r := mustStart(t, child, `export class Gadget {
				constructor(ctx) { this.ctx = ctx; this.n = 0 }
				add(k) { this.n += k; return this.n }
				async later(k) { await null; return k + "é😀" }
				who() { return [this.ctx.id, typeof __host] }
				boom() { throw new TypeError("no") }
			}`)
			r.want("add", 2, "2")
			r.want("add", 3, "5")
			r.want("later", "x", `"xé😀"`)
			r.want("who", nil, `["g1","undefined"]`)
			if _, err := r.call("boom", nil); err == nil || err.Error() != "TypeError: no" {
				t.Fatal(err)
			}
		})
	}
}

// orphanMain is a kernel that dies without saying goodbye: it prints the process id of its child first.
func orphanMain() int {
	child, err := StartChild(context.Background(), Config{Command: self("fake-guest"), Build: testBuild})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(child.PID())
	os.Stdout.Close()
	return 0
}
