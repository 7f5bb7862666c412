package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"toolshed/app"
	"toolshed/app/code"
	"toolshed/app/profile"
	"toolshed/runtime/host"
)

const testBuild = "test-build"

// The test binary plays every other process of these tests: the sandbox's child, a program that has the data folder open,
// and one that holds it without listening.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "gadget-host" {
		os.Exit(host.ChildMain(testBuild))
	}
	if len(os.Args) == 3 && os.Args[1] == "run" {
		_, err := app.Open(context.Background(), app.Settings{Data: os.Args[2], Build: testBuild, Child: child, Log: slog.New(slog.DiscardHandler)})
		wait(err)
	}
	if len(os.Args) == 3 && os.Args[1] == "hold" {
		_, err := profile.Open(os.Args[2])
		wait(err)
	}
	os.Exit(m.Run())
}

func wait(err error) {
	fmt.Println("ready", err)
	time.Sleep(2 * time.Minute)
	os.Exit(1)
}

func child() (*exec.Cmd, error) { return exec.Command(os.Args[0], "gadget-host"), nil }

// terminal is one person's terminal: a data folder, and commands one after the other.
type terminal struct {
	t    *testing.T
	data string
	env  Environment
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	run, err := os.MkdirTemp("", "shed") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	t.Setenv("XDG_RUNTIME_DIR", run)
	t.Setenv("TOOLSHED_DATA", "")
	return &terminal{t, filepath.Join(t.TempDir(), "data"), Environment{
		Build: testBuild,
		Child: child,
		Page: func() (fs.FS, error) {
			return fstest.MapFS{"index.html": {Data: []byte("page")}, "frame/boot.js": {Data: []byte("0")}}, nil
		},
		Log:         slog.New(slog.DiscardHandler),
		OpenSibling: func([]string) error { return errors.New("there is no window here") },
	}}
}

// output is what a command printed; it may be read while the command runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

type result3 struct {
	code        int
	out, errors string
}

// run runs a command on the terminal's data folder.
func (s *terminal) run(args ...string) result3 {
	s.t.Helper()
	return s.runExactly(append(args, "--data", s.data)...)
}

func (s *terminal) runExactly(args ...string) result3 {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out, errs output
	env := s.env
	env.Stdout, env.Stderr = &out, &errs
	code := Main(ctx, args, env)
	return result3{code, out.String(), errs.String()}
}

// must runs a command that succeeds and prints JSON, and decodes what it printed.
func (s *terminal) must(into any, args ...string) {
	s.t.Helper()
	got := s.run(append([]string{"--json"}, args...)...)
	if got.code != exitOK || got.errors != "" {
		s.t.Fatalf("%v: %d %s%s", args, got.code, got.out, got.errors)
	}
	if err := json.Unmarshal([]byte(got.out), into); err != nil {
		s.t.Fatalf("%v printed %q: %v", args, got.out, err)
	}
}

// shareEngine lets the data folder use the compiled engine of other tests, which takes a second to make.
func (s *terminal) shareEngine() {
	s.t.Helper()
	shared, own := filepath.Join(os.TempDir(), fmt.Sprintf("toolshed-test-engine-%d", os.Getuid())), filepath.Join(s.data, "cache", "engine")
	if _, err := os.Lstat(own); err == nil {
		return
	}
	if err := errors.Join(os.MkdirAll(shared, 0o700), os.MkdirAll(filepath.Dir(own), 0o700), os.Symlink(shared, own)); err != nil {
		s.t.Fatal(err)
	}
}

type made struct{ Workspace, Gadget string }

// gadget makes one with the given server code.
func (s *terminal) gadget(server string, args ...string) (m made) {
	s.t.Helper()
	s.must(&m, append([]string{"new", "--blueprint", "board"}, args...)...)
	s.shareEngine()
	sources, err := code.Open(filepath.Join(s.data, "workspaces", m.Workspace, "code.git"))
	if err == nil {
		_, err = sources.Commit(m.Gadget, code.Files{"server.js": []byte(server)}, code.Change{Author: "Ada", Message: "Test\n", Time: time.Now()})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

// sentences is the form of what a person is told; a reason may have more than one line.
var sentences = regexp.MustCompile(`^toolshed: .+\n  Why: (?s:.+)\.\n  What to do: .+\n$`)

// refused runs a command twice, for people and with --json, and checks that each time it ends with the code and says what
// happened, why, and what to do, in plain words.
func (s *terminal) refused(code int, kind string, args ...string) {
	s.t.Helper()
	forPeople := s.run(args...)
	if forPeople.code != code || !sentences.MatchString(forPeople.errors) {
		s.t.Errorf("%v: code %d, not %d:\n%s", args, forPeople.code, code, forPeople.errors)
	}
	if forPeople.out != "" || strings.Contains(forPeople.errors, "unexpected") || strings.Contains(forPeople.errors, "..\n") {
		s.t.Errorf("%v is not said plainly: %s%s", args, forPeople.errors, forPeople.out)
	}
	forPrograms := s.run(append([]string{"--json"}, args...)...)
	var printed struct {
		Error struct{ Kind, What, Why, Todo string }
	}
	if err := json.Unmarshal([]byte(forPrograms.out), &printed); err != nil || forPrograms.code != code || printed.Error.Kind != kind || printed.Error.What == "" || printed.Error.Why == "" || printed.Error.Todo == "" {
		s.t.Errorf("%v --json: code %d, not %d; %s, not %s: %v", args, forPrograms.code, code, forPrograms.out, kind, err)
	}
}

// process starts the test binary in a role that takes the data folder, and waits until it has it.
func (s *terminal) process(role string) *exec.Cmd {
	s.t.Helper()
	cmd := exec.Command(os.Args[0], role, s.data)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line := make([]byte, 200)
	n, _ := out.Read(line)
	if got := strings.TrimSpace(string(line[:n])); got != "ready <nil>" {
		s.t.Fatalf("the other process said %s", got)
	}
	return cmd
}
