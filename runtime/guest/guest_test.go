package guest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolshed/runtime/guest"
)

func TestEngineIsPinned(t *testing.T) {
	wasm, err := guest.Engine()
	if err != nil {
		missing(t, err.Error())
	}
	if !strings.HasPrefix(string(wasm), "\x00asm") {
		t.Error("the engine is not a WebAssembly module")
	}
}

// TestPrelude runs the prelude's own tests: scripts in testdata, run by node with the npm packages capnweb and
// quickjs-wasi, which are found in the frontend's node_modules or the folder named by TOOLSHED_NODE_MODULES.
func TestPrelude(t *testing.T) {
	environment := nodeEnvironment(t)
	for _, script := range []string{"rpc", "random", "lifetimes", "storage", "storage_clone", "web", "console", "url", "events", "streams", "fetch", "wire", "lifecycle", "hostile", "cost"} {
		t.Run(script, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, "node", "--stack-size=6000", filepath.Join("testdata", script+".mjs"))
			cmd.Env = append(os.Environ(), environment...)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

// nodeEnvironment writes the prelude where the scripts find it.
func nodeEnvironment(t *testing.T) []string {
	t.Helper()
	modules := os.Getenv("TOOLSHED_NODE_MODULES")
	if modules == "" {
		modules = filepath.Join("..", "..", "frontend", "node_modules")
	}
	modules, err := filepath.Abs(modules)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"capnweb", "quickjs-wasi"} {
		if _, err := os.Stat(filepath.Join(modules, name, "dist", "index.js")); err != nil {
			missing(t, "the npm package "+name+" is missing ("+err.Error()+")")
		}
	}
	if _, err := exec.LookPath("node"); err != nil {
		missing(t, err.Error())
	}
	wasm, err := guest.Engine()
	if err != nil {
		missing(t, err.Error())
	}
	folder := t.TempDir()
	variables := []string{"TOOLSHED_NODE_MODULES=" + modules}
	for name, file := range map[string]struct {
		name string
		data []byte
	}{
		"TOOLSHED_PRELUDE": {"prelude.js", []byte(guest.Prelude())},
		"TOOLSHED_WORKERS": {"workers.mjs", []byte(guest.Workers())},
		"TOOLSHED_ENGINE":  {"quickjs.wasm", wasm},
	} {
		path := filepath.Join(folder, file.name)
		if err := os.WriteFile(path, file.data, 0o600); err != nil {
			t.Fatal(err)
		}
		variables = append(variables, name+"="+path)
	}
	return variables
}

// missing skips where a developer has not run setup, and fails in CI.
func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why + ": run make setup")
}
