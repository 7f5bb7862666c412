// Package bench takes the figures of `toolshed bench`.
//
// There are three groups. The sandbox alone is measured by package host. The program with its official client is
// measured by one node process (driver.mjs) that drives this program and, where it is installed, workerd, with the same
// gadget class, the same npm capnweb client over WebSockets on loopback, and blocks of calls that alternate between the
// two, so that a noisy machine is noisy for both. The rest (storage, the protocol between two Go peers) is measured here.
//
// Ratios are this program's figure divided by the peer's, in the same unit. A ratio of writes means something only beside
// the number of syncs each side makes for an acknowledged write, which is counted in runs of their own under strace;
// without it the ratio is left out.
package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"

	"toolshed/runtime/host"
)

// Figure is one measured number.
type Figure struct {
	Name   string   `json:"name"`  // such as call.p50
	Value  float64  `json:"value"` // in Unit
	Unit   string   `json:"unit"`
	Runs   int      `json:"runs"`   // how many observations it is made of
	Method string   `json:"method"` // what was done, in a sentence
	Peer   *float64 `json:"peer"`   // the same figure of workerd, or of the official server; nil: not measured
	Ratio  *float64 `json:"ratio"`  // Value / Peer; nil without a peer
}

// Options say what is measured, and with what.
type Options struct {
	Child   func() (*exec.Cmd, error) // the gadget-host role
	Self    string                    // this program's binary, which plays the side that is driven
	Build   string
	Cache   string // the compiled engine; empty compiles it for each child
	Modules string // a node_modules folder with capnweb, ws and perhaps workerd; empty: nothing is driven by node
	Only    string // the names of figures begin with this; empty: all
	Few     bool   // observe so little that the values mean nothing, for tests
	Log     *slog.Logger
	Note    func(string) // told what is going on and what is left out; may be nil
}

// group is a number of figures that are taken together.
type group struct {
	names []string // what its figures' names begin with
	run   func(context.Context, Options) ([]Figure, error)
}

var groups = []group{
	{[]string{"pipe.", "snapshot.", "ready.", "idle.", "busy.", "attack.", "compute", "spawn."}, sandboxFigures},
	{[]string{"writes.", "large_edit."}, storageFigures},
	{[]string{"rpc.go."}, protocolFigures},
	{[]string{"call.", "write.", "throughput.", "new_gadget.", "live100.", "start.", "syncs.", "rpc.official."}, drivenFigures},
}

// Run takes the figures. It takes some minutes and wants a machine that does nothing else. Each group is measured even if
// another one fails; the error joins the failures.
func Run(ctx context.Context, o Options) ([]Figure, error) {
	if o.Note == nil {
		o.Note = func(string) {}
	}
	var out []Figure
	var failed error
	for _, g := range groups {
		if !g.wanted(o.Only) {
			continue
		}
		figures, err := g.run(ctx, o)
		for _, f := range figures {
			if begins(f.Name, o.Only) {
				out = append(out, f)
			}
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("bench: %w", err))
		}
	}
	return out, failed
}

func (g group) wanted(only string) bool {
	for _, name := range g.names {
		if begins(name, only) || begins(only, name) {
			return true
		}
	}
	return false
}

func begins(name, with string) bool { return len(name) >= len(with) && name[:len(with)] == with }

// methods say how the sandbox's figures are taken, by name.
var methods = map[string]string{
	"pipe.call.p50":    "one call from the kernel's process to a method of a gadget and back, no storage; median",
	"pipe.call.p99":    "the same, the 99th of a hundred",
	"ready.fresh":      "start of an instance that initialises the engine anew; median",
	"ready.copied":     "start of an instance from a copied image of engine and prelude, its code evaluated; median",
	"ready.mapped":     "start of an instance from the mapped image of engine and prelude, its code evaluated; median",
	"snapshot.ready":   "start of an instance whose code has run before, from the mapped image of that code; median",
	"idle.private":     "memory that a started, idle instance shares with nobody",
	"busy.private":     "the same after 20 calls",
	"attack.late.p99":  "how long after its deadline an attack ends by fuel alone (the JavaScript interrupt is off)",
	"attack.late.max":  "the same, the worst",
	"attack.ping.p99":  "how long a call of another instance takes meanwhile",
	"attack.ping.max":  "the same, the worst",
	"attack.timer.p99": "control: how late a bare timer of the kernel's process fires meanwhile",
	"attack.timer.max": "the same, the worst",
	"compute":          "ten million steps of a simple loop; median",
	"spawn.first_call": "from no child process to the first answer of a gadget; median",
}

func sandboxFigures(ctx context.Context, o Options) ([]Figure, error) {
	o.Note("the sandbox alone")
	figures, err := host.Measure(ctx, host.Config{Command: o.Child, Build: o.Build, CacheDir: o.Cache, Log: o.Log}, o.Few)
	var out []Figure
	for _, f := range figures {
		out = append(out, Figure{Name: f.Name, Value: f.Value, Unit: f.Unit, Runs: f.Runs, Method: methods[f.Name]})
	}
	return out, err
}

// folder makes a folder that is removed by the function returned.
func folder() (string, func(), error) {
	dir, err := os.MkdirTemp("", "toolshed-bench-")
	if err != nil {
		return "", nil, err
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}

// FindModules returns a node_modules folder that has what driver.mjs needs: the given one, or the first that has it
// of those that a source tree has. It is empty if there is none.
func FindModules(given string) string {
	candidates := []string{given}
	if given == "" {
		candidates = []string{filepath.Join("build", "bench", "node_modules"), filepath.Join("frontend", "node_modules")}
	}
	for _, c := range candidates {
		if _, err := os.Stat(filepath.Join(c, "capnweb", "dist", "index.js")); err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(c, "ws", "package.json")); err == nil {
			if absolute, err := filepath.Abs(c); err == nil {
				return absolute
			}
		}
	}
	return ""
}
