package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"toolshed/runtime/host"
)

const testBuild = "test"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "gadget-host" {
		os.Exit(host.ChildMain(testBuild))
	}
	os.Exit(m.Run())
}

// promised are the figures that the program is judged by.
var promised = strings.Fields(`call.p50 call.p99 write.p50 throughput.8 new_gadget.first_call live100.same.pss live100.different.pss start.warm start.cold
	pipe.call.p50 snapshot.ready idle.private busy.private writes.1 writes.64 large_edit.bytes attack.late.p99 attack.late.max attack.ping.p99
	attack.timer.p99 attack.timer.max rpc.go.calls_per_s rpc.official.p50 syncs.per_write`)

func testOptions(t *testing.T) Options {
	return Options{Child: func() (*exec.Cmd, error) { return exec.Command(os.Args[0], "gadget-host"), nil }, Build: testBuild,
		Cache: filepath.Join(os.TempDir(), fmt.Sprintf("toolshed-test-engine-%d", os.Getuid())), Few: true, Log: slog.New(slog.DiscardHandler), Note: func(string) {}}
}

// What is measured here, and what the driver says that it measures, is everything promised, each once and in its group.
func TestFigures(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var names []string
	for k, g := range groups[:3] {
		figures, err := g.run(ctx, testOptions(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range figures {
			names = append(names, f.Name)
			if f.Unit == "" || f.Runs < 1 || f.Method == "" || f.Peer != nil || f.Ratio != nil {
				t.Errorf("%+v", f)
			}
			belongs(t, f.Name, k)
		}
	}
	for _, match := range regexp.MustCompile(`figure\((?:kind === "same" \? )?"([\w.]+)"(?: : "([\w.]+)")?`).FindAllStringSubmatch(string(driver), -1) {
		for _, name := range match[1:] {
			if name != "" {
				names = append(names, name)
				belongs(t, name, 3)
			}
		}
	}
	slices.Sort(names)
	for k, name := range names {
		if k > 0 && name == names[k-1] {
			t.Errorf("%s is measured twice", name)
		}
	}
	for _, name := range promised {
		if !slices.Contains(names, name) && (name != "idle.private" && name != "busy.private" && name != "large_edit.bytes" || os.Getenv("CI") == "true") {
			t.Errorf("%s is not measured", name)
		}
	}
	for name := range methods {
		if !slices.Contains(names, name) && !strings.HasSuffix(name, ".private") {
			t.Errorf("methods says how %s is measured, and nobody does", name)
		}
	}
}

// belongs checks that a figure is in its group, and in no other: --only would leave it out.
func belongs(t *testing.T, name string, group int) {
	t.Helper()
	for k, g := range groups {
		if is := slices.ContainsFunc(g.names, func(with string) bool { return begins(name, with) }); is != (k == group) {
			t.Errorf("%s: in group %d: %v", name, k, is)
		}
	}
}

func TestFigureAsJSON(t *testing.T) {
	text, err := json.Marshal(Figure{Name: "a", Value: 1.5, Unit: "µs", Runs: 2, Method: "m"})
	if want := `{"name":"a","value":1.5,"unit":"µs","runs":2,"method":"m","peer":null,"ratio":null}`; err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
}

// fakeSide answers as the benchmark's gadget does, with the official server.
const fakeSide = `import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
const [modules, port] = process.argv.slice(2);
const { WebSocket, WebSocketServer } = createRequire(join(modules, "x.js"))("ws");
globalThis.WebSocket = WebSocket;
const { newWebSocketRpcSession, RpcTarget } = await import(pathToFileURL(join(modules, "capnweb/dist/index.js")));
class Gadget extends RpcTarget { n = 0; ping() { return ++this.n; } write(n) { return n; } read() { return 41; } }
const http = createServer(), sockets = new WebSocketServer({ server: http });
sockets.on("connection", (socket) => newWebSocketRpcSession(socket, new Gadget()));
http.listen(port, "127.0.0.1");
`

// drive runs the driver on two sides that do nothing.
func drive(t *testing.T, strace, only string) map[string]Figure {
	t.Helper()
	node, err := exec.LookPath("node")
	modules := FindModules("")
	for _, folder := range []string{"../../../build/bench/node_modules", "../../../frontend/node_modules"} {
		if modules == "" {
			modules = FindModules(folder)
		}
	}
	if err != nil || modules == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("node, or npm capnweb and ws, are missing")
		}
		t.Skip("node, or npm capnweb and ws, are missing: run make setup")
	}
	dir := t.TempDir()
	ports, err := freePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"driver.mjs": driver, "side.mjs": []byte(fakeSide)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := plan{Modules: modules, Strace: strace, Only: only}
	for k, name := range []string{"one", "two"} {
		p.Sides = append(p.Sides, side{Name: name, Port: ports[k], Command: []string{node, filepath.Join(dir, "side.mjs"), modules, fmt.Sprint(ports[k])}})
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, filepath.Join(dir, "driver.mjs"))
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, strings.NewReader(string(text)), os.Stderr
	out, err := cmd.Output()
	var answer struct{ Figures []Figure }
	if e := json.Unmarshal(out, &answer); err != nil || e != nil {
		t.Fatal(err, e)
	}
	found := map[string]Figure{}
	for _, f := range answer.Figures {
		found[f.Name] = f
	}
	return found
}

// A peer gives a ratio, but none of writes whose syncs were not counted.
func TestRatios(t *testing.T) {
	f := drive(t, "", "call.")["call.p50"]
	if f.Peer == nil || f.Ratio == nil || *f.Ratio != f.Value / *f.Peer {
		t.Errorf("%+v", f)
	}
	f = drive(t, "", "write.")["write.p50"]
	if f.Peer == nil || f.Ratio != nil || strings.Contains(f.Method, "syncs") {
		t.Errorf("a ratio of writes without their syncs: %+v", f)
	}
}
