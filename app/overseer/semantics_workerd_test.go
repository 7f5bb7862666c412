package overseer_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The worker in front of a group's class: it ends the client's session and passes the calls on.
const workerdHost = `import { newWorkersRpcResponse } from "./capnweb.js";
export { Gadget } from "./server.js";
export default {
  fetch(request, env) {
    const id = env.GADGETS.idFromName(new URL(request.url).pathname);
    return request.headers.get("Upgrade") === null ? new Response(id.toString()) : newWorkersRpcResponse(request, env.GADGETS.get(id));
  },
};
`

const workerdRouter = `export default { fetch: (request, env) => env[new URL(request.url).pathname.split("/")[1]].fetch(request) };
`

const workerdWorker = `const %[1]s :Workerd.Worker = (
  modules = [
    (name = "host.js", esModule = embed "host.js"),
    (name = "server.js", esModule = embed "%[1]s.js"),
    (name = "trace.js", esModule = embed "trace.js"),
    (name = "capnweb.js", esModule = embed "capnweb.js"),
  ],
  compatibilityDate = "2026-11-01",
  durableObjectNamespaces = [(className = "Gadget", uniqueKey = "%[1]s", enableSql = true)],
  durableObjectStorage = (localDisk = "disk"),
  bindings = [(name = "GADGETS", durableObjectNamespace = "Gadget")],
);
`

const workerdConfig = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "router", worker = .router),
    (name = "disk", disk = (path = %q, writable = true)),
%s  ],
  sockets = [(name = "http", address = "127.0.0.1:%d", http = (), service = "router")],
);
const router :Workerd.Worker = (
  modules = [(name = "router.js", esModule = embed "router.js")],
  compatibilityDate = "2026-11-01",
  bindings = [
%s  ],
);
%s`

// startWorkerd serves the gadgets with workerd. Their events are lines of its output.
func startWorkerd(t *testing.T, binary, modules string) semanticsSide {
	t.Helper()
	dir, port := t.TempDir(), freePort(t)
	writeWorkerd(t, dir, modules, port)
	cmd := exec.Command(binary, "serve", filepath.Join(dir, "config.capnp"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaints strings.Builder
	cmd.Stderr = &complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var lines []string
	read := make(chan struct{})
	go func() {
		defer close(read)
		for s := bufio.NewScanner(out); s.Scan(); {
			mu.Lock()
			lines = append(lines, s.Text())
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("workerd said:\n%s", complaints.String())
		}
	})
	for range 500 {
		if r, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/%s/0", port, semanticsGroups[0])); err == nil {
			r.Body.Close()
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return semanticsSide{port, func(_, id string) []string {
		return waitForEnd(func() (events []string) {
			mu.Lock()
			defer mu.Unlock()
			for _, l := range lines {
				if e, ok := event(l, id); ok {
					events = append(events, e)
				}
			}
			return events
		})
	}}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// writeWorkerd writes workerd's configuration: a worker for each group, and one that tells them apart by the path.
func writeWorkerd(t *testing.T, dir, modules string, port int) {
	t.Helper()
	files := map[string]string{"host.js": workerdHost, "router.js": workerdRouter}
	read := func(name, path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	read("capnweb.js", filepath.Join(modules, "capnweb", "dist", "index-workers.js"))
	read("trace.js", filepath.Join(semanticsFolder, "trace.js"))
	var services, bindings, workers strings.Builder
	for _, group := range semanticsGroups {
		read(group+".js", filepath.Join(semanticsFolder, group+".js"))
		fmt.Fprintf(&services, "    (name = %q, worker = .%s),\n", group, group)
		fmt.Fprintf(&bindings, "    (name = %q, service = %q),\n", group, group)
		fmt.Fprintf(&workers, workerdWorker, group)
	}
	if err := os.Mkdir(filepath.Join(dir, "disk"), 0o700); err != nil {
		t.Fatal(err)
	}
	files["config.capnp"] = fmt.Sprintf(workerdConfig, filepath.Join(dir, "disk"), services.String(), port, bindings.String(), workers.String())
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
