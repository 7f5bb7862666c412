package overseer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"toolshed/app/code"
	"toolshed/app/overseer"
	"toolshed/app/serve"
	"toolshed/runtime/capnweb"
)

// The scenarios in testdata/semantics are small gadgets and what a client does with them. A scenario gives two lists of
// events: the client's and the gadget's. They are taken from this program and from workerd, with the same gadget code and
// the same official client, and must be the same, except where ours.txt lists a difference with its reason.
//
// workerd.txt holds what workerd did. Where it is installed (make bench installs it) it is run and compared again;
// -update writes the file anew.

var (
	updateTraces = flag.Bool("update", false, "write testdata/semantics/workerd.txt from what workerd does")
	onlyTraces   = flag.String("scenario", "", "run only scenarios whose names, such as \"gates: two blocks\", begin with this")
)

const semanticsFolder = "testdata/semantics"

var semanticsGroups = []string{"alarms", "gates", "lives", "storing", "transactions"}

// trace is what one scenario gave: two titled lists.
type trace struct{ client, gadget []string }

func (t trace) String() string {
	var b strings.Builder
	for _, part := range []struct {
		title string
		lines []string
	}{{"client", t.client}, {"gadget", t.gadget}} {
		fmt.Fprintf(&b, "  %s\n", part.title)
		for _, l := range part.lines {
			fmt.Fprintf(&b, "    %s\n", l)
		}
	}
	return b.String()
}

func TestSemanticsAsInWorkerd(t *testing.T) {
	modules := nodeModules(t)
	wanted := readTraces(t, "workerd.txt")
	different := readTraces(t, "ours.txt")
	binary := workerdBinary(modules)
	if binary == "" && *updateTraces {
		t.Fatal("-update needs workerd: cd build/bench && npm ci")
	}
	if binary != "" {
		theirs := scenariosIn(t, startWorkerd(t, binary, modules), modules)
		if *updateTraces && *onlyTraces == "" {
			writeTraces(t, "workerd.txt", theirs)
			wanted = readTraces(t, "workerd.txt")
		}
		compareTraces(t, "workerd", theirs, wanted, nil)
	}
	ours := scenariosIn(t, startToolshed(t), modules)
	compareTraces(t, "toolshed", ours, wanted, different)
}

// compareTraces compares each scenario with what is wanted, or with its listed difference.
func compareTraces(t *testing.T, side string, got map[string]trace, wanted, different map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(got)) {
		text := got[name].String()
		want, known := wanted[name]
		if other, listed := different[name]; listed {
			if reason, body, _ := strings.Cut(other, "\n"); !strings.HasPrefix(reason, "  because ") || body == want {
				t.Errorf("%s: ours.txt lists a difference that has no reason or is none", name)
			} else {
				want = body
			}
		}
		if !known {
			t.Errorf("%s: no trace of workerd: write it with -update", name)
		}
		if text != want {
			t.Errorf("%s: %s\n--- it was\n%s--- and should be\n%s", side, name, text, want)
		}
	}
	for _, list := range []map[string]string{wanted, different} {
		for name := range list {
			if _, ran := got[name]; !ran && *onlyTraces == "" {
				t.Errorf("%s: %s is listed and did not run", side, name)
			}
		}
	}
}

// readTraces reads the traces in a file, by scenario: "# group: name" and the lines below it.
func readTraces(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(semanticsFolder, file))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, section := range strings.Split("\n"+string(text), "\n# ")[1:] {
		name, body, _ := strings.Cut(section, "\n")
		out[name] = strings.TrimRight(body, "\n") + "\n"
	}
	return out
}

func writeTraces(t *testing.T, file string, traces map[string]trace) {
	t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(traces)) {
		fmt.Fprintf(&b, "# %s\n%s\n", name, traces[name])
	}
	if err := os.WriteFile(filepath.Join(semanticsFolder, file), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// semanticsSide is a program that serves the gadgets of the scenarios. events gives a gadget's, by the id that it has
// for itself, once its last is "end".
type semanticsSide struct {
	port   int
	events func(path, id string) []string
}

// scenariosIn runs the scenarios on a side.
func scenariosIn(t *testing.T, s semanticsSide, modules string) map[string]trace {
	t.Helper()
	folder, err := filepath.Abs(semanticsFolder)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := json.Marshal(map[string]any{"modules": modules, "port": s.port, "folder": folder, "groups": semanticsGroups, "only": *onlyTraces, "verbose": testing.Verbose()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", filepath.Join(folder, "drive.mjs"))
	var errors bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(plan), &errors
	text, err := cmd.Output()
	var answer map[string]map[string]struct {
		ID     string
		Path   string
		Events []string
	}
	if e := json.Unmarshal(text, &answer); err != nil || e != nil {
		t.Fatalf("the driver failed: %v, %v\n%s", err, e, &errors)
	}
	t.Logf("%s", &errors)
	out := map[string]trace{}
	for group, list := range answer {
		for name, found := range list {
			out[group+": "+name] = trace{found.Events, s.events(found.Path, found.ID)}
		}
	}
	return out
}

// waitForEnd asks for a gadget's events until the last one is there.
func waitForEnd(events func() []string) []string {
	for range 50 {
		if list := events(); len(list) > 0 && list[len(list)-1] == "end" {
			return list[:len(list)-1]
		}
		time.Sleep(20 * time.Millisecond)
	}
	return append(events(), "(no end)")
}

// event returns the event in a line of a gadget's console.
func event(line, id string) (string, bool) { return strings.CutPrefix(line, "> "+id+" ") }

// startToolshed serves the gadgets with this program's kernel.
func startToolshed(t *testing.T) semanticsSide {
	t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	folder := t.TempDir()
	k, err := overseer.Open(t.Context(), overseer.Options{Folder: folder, Build: overseer.TestBuild, Cache: overseer.TestCache, Author: "test", NoSpare: true, Log: log,
		Child: func() (*exec.Cmd, error) { return exec.Command(os.Args[0], "gadget-host"), nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	var mu sync.Mutex
	all, workspace := map[string]overseer.Ref{}, ""
	gadget := func(path string) (overseer.Ref, error) {
		mu.Lock()
		defer mu.Unlock()
		if ref, ok := all[path]; ok {
			return ref, nil
		}
		group, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		if !slices.Contains(semanticsGroups, group) {
			return overseer.Ref{}, fmt.Errorf("no group %q", group)
		}
		ref, err := k.CreateGadget(overseer.NewGadget{Blueprint: "board", Title: path, Workspace: workspace})
		if err != nil {
			return ref, err
		}
		workspace = ref.Workspace
		repository, err := code.Open(filepath.Join(folder, ref.Workspace, "code.git"))
		if err != nil {
			return ref, err
		}
		files := code.Files{}
		for name, source := range map[string]string{"server.js": group + ".js", "trace.js": "trace.js"} {
			if files[name], err = os.ReadFile(filepath.Join(semanticsFolder, source)); err != nil {
				return ref, err
			}
		}
		_, err = repository.Commit(ref.Gadget, files, code.Change{Author: "test", Message: path, Time: time.Now()})
		all[path] = ref
		return ref, err
	}
	port := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		ref, err := gadget(r.URL.Path)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		if r.Header.Get("Upgrade") == "" {
			fmt.Fprint(w, ref.Gadget)
			return
		}
		stub, err := k.Connect(ref)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer stub.Dispose()
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		session := capnweb.NewSession(serve.NewTransport(conn), stub, nil)
		select {
		case <-session.Done():
		case <-t.Context().Done():
			session.Close()
		}
	})
	return semanticsSide{port, func(_, id string) []string {
		ref := overseer.Ref{}
		for _, r := range all {
			if r.Gadget == id {
				ref = r
			}
		}
		return waitForEnd(func() (out []string) {
			lines, _, stop, err := k.Console(ref)
			if err != nil {
				return []string{err.Error()}
			}
			stop()
			for _, l := range lines {
				if e, ok := event(l.Text, id); ok {
					out = append(out, e)
				}
			}
			return out
		})
	}}
}

// serveHTTP serves on loopback until the test ends.
func serveHTTP(t *testing.T, f http.HandlerFunc) (port int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: f}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return listener.Addr().(*net.TCPAddr).Port
}

// nodeModules returns the folder of npm packages that has the client, and workerd if it is installed.
func nodeModules(t *testing.T) string {
	t.Helper()
	why := "npm capnweb and ws are missing"
	if _, err := exec.LookPath("node"); err != nil {
		why = err.Error()
	} else {
		for _, folder := range []string{"../../build/bench/node_modules", "../../frontend/node_modules"} {
			if _, err := os.Stat(filepath.Join(folder, "capnweb", "dist", "index.js")); err == nil {
				if folder, err = filepath.Abs(folder); err == nil {
					return folder
				}
			}
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why + ": run make setup")
	return ""
}

// workerdBinary returns the path of workerd, "" if it is not installed.
func workerdBinary(modules string) string {
	name := map[string]string{"linux/amd64": "workerd-linux-64", "linux/arm64": "workerd-linux-arm64", "darwin/amd64": "workerd-darwin-64", "darwin/arm64": "workerd-darwin-arm64"}[runtime.GOOS+"/"+runtime.GOARCH]
	path := filepath.Join(modules, "@cloudflare", name, "bin", "workerd")
	if _, err := os.Stat(path); name == "" || err != nil {
		return ""
	}
	return path
}
