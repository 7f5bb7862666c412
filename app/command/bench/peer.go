package bench

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

//go:embed driver.mjs
var driver []byte

//go:embed rpc_server.mjs
var rpcServer []byte

// side is one of the programs that the driver drives, as driver.mjs reads it.
type side struct {
	Name    string            `json:"name"`
	Command []string          `json:"command"`
	Wide    []string          `json:"wide"` // the command for a side with gadgets of many codes, if it is another one
	Env     map[string]string `json:"env"`
	Port    int               `json:"port"`
	Files   []string          `json:"files"` // what a cold start reads: dropped from the system's file cache before it
}

// plan is what driver.mjs is told.
type plan struct {
	Modules string `json:"modules"`
	Sides   []side `json:"sides"`
	RPC     []side `json:"rpc"`
	Strace  string `json:"strace"` // empty: syncs are not counted
	Only    string `json:"only"`
}

// drivenFigures runs the node process that drives this program and its peers.
func drivenFigures(ctx context.Context, o Options) ([]Figure, error) {
	node, err := exec.LookPath("node")
	if err != nil || o.Modules == "" {
		o.Note("left out: what the official client drives (it needs node, and --modules with capnweb and ws)")
		return nil, nil
	}
	dir, remove, err := folder()
	if err != nil {
		return nil, err
	}
	defer remove()
	p, err := makePlan(o, node, dir)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	script := filepath.Join(dir, "driver.mjs")
	if err := os.WriteFile(script, driver, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, node, "--expose-gc", script)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(string(text))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var answer struct {
		Figures []Figure `json:"figures"`
		Notes   []string `json:"notes"`
	}
	if e := json.Unmarshal(out, &answer); e != nil {
		return nil, fmt.Errorf("the driver's answer: %w", errors.Join(err, e))
	}
	for _, n := range answer.Notes {
		o.Note(n)
	}
	return answer.Figures, err
}

// makePlan lays out the sides in the folder.
func makePlan(o Options, node, dir string) (plan, error) {
	p := plan{Modules: o.Modules, Only: o.Only}
	if strace, err := exec.LookPath("strace"); err == nil {
		p.Strace = strace
	}
	ports, err := freePorts(3)
	if err != nil {
		return p, err
	}
	data := filepath.Join(dir, "toolshed")
	own := side{Name: "toolshed", Port: ports[0], Env: map[string]string{},
		Command: []string{o.Self, "bench", "--data", data, "--side", fmt.Sprint(ports[0])},
		Files:   []string{o.Self, data, filepath.Join(data, "cache")}}
	p.Sides = append(p.Sides, own)
	p.RPC = append(p.RPC, own)
	server := filepath.Join(dir, "rpc_server.mjs")
	if err := os.WriteFile(server, rpcServer, 0o600); err != nil {
		return p, err
	}
	p.RPC = append(p.RPC, side{Name: "node", Port: ports[2], Command: []string{node, server, o.Modules, fmt.Sprint(ports[2])}})
	binary := workerd(o.Modules)
	if binary == "" {
		o.Note("left out: the comparison with workerd (npm workerd is not in " + o.Modules + ")")
		return p, nil
	}
	peer := filepath.Join(dir, "workerd")
	if err := writeWorkerd(peer, o.Modules, ports[1]); err != nil {
		return p, err
	}
	p.Sides = append(p.Sides, side{Name: "workerd", Port: ports[1], Command: []string{binary, "serve", filepath.Join(peer, "config.capnp")},
		Wide: []string{binary, "serve", filepath.Join(peer, "wide.capnp")}, Files: []string{binary, peer}})
	return p, nil
}

// workerd returns the path of workerd's binary, "" if it is not installed.
func workerd(modules string) string {
	name := map[string]string{"linux/amd64": "workerd-linux-64", "linux/arm64": "workerd-linux-arm64", "darwin/amd64": "workerd-darwin-64",
		"darwin/arm64": "workerd-darwin-arm64"}[runtime.GOOS+"/"+runtime.GOARCH]
	path := filepath.Join(modules, "@cloudflare", name, "bin", "workerd")
	if _, err := os.Stat(path); name == "" || err != nil {
		return ""
	}
	return path
}

// freePorts returns ports that nobody listens on. Another program may take one before it is used; then the run fails.
func freePorts(n int) ([]int, error) {
	var out []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		out = append(out, l.Addr().(*net.TCPAddr).Port)
	}
	return out, nil
}

// The worker in front of the gadget's class, which runs there as it is: like this program's kernel, it ends the client's
// session and passes the calls on.
const workerdHost = `import { newWorkersRpcResponse } from "./capnweb.js";
export { Gadget } from "./gadget.js";
export default { fetch(request, env) { return newWorkersRpcResponse(request, env.GADGETS.get(env.GADGETS.idFromName(new URL(request.url).pathname))); } };
`

const workerdRouter = `export default {
  fetch(request, env) {
    const [, kind, number] = new URL(request.url).pathname.split("/");
    return (kind === "unique" ? env["U" + number] : env.SAME).fetch(request);
  },
};
`

// writeWorkerd writes workerd's code, and two configurations: one worker for the gadgets of the same code, and with a worker
// for each of the others besides.
func writeWorkerd(dir, modules string, port int) error {
	if err := os.MkdirAll(filepath.Join(dir, "disk"), 0o700); err != nil {
		return err
	}
	client, err := os.ReadFile(filepath.Join(modules, "capnweb", "dist", "index-workers.js"))
	if err != nil {
		return err
	}
	files := map[string]string{"capnweb.js": string(client), "host.js": workerdHost, "router.js": workerdRouter, "gadget0.js": gadgetCode(0)}
	var services, bindings, workers strings.Builder
	worker := func(name string, number int) {
		files[fmt.Sprintf("gadget%d.js", number)] = gadgetCode(number)
		fmt.Fprintf(&services, "    (name = %q, worker = .w%d),\n", name, number)
		fmt.Fprintf(&bindings, "    (name = %q, service = %q),\n", name, name)
		fmt.Fprintf(&workers, workerdWorker, number, number, number)
	}
	worker("SAME", 0)
	config := func() string {
		return fmt.Sprintf(workerdConfig, filepath.Join(dir, "disk"), services.String(), port, bindings.String(), workers.String())
	}
	files["config.capnp"] = config()
	for n := range uniqueGadgets {
		worker(fmt.Sprint("U", n), n+1)
	}
	files["wide.capnp"] = config()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

const workerdWorker = `const w%d :Workerd.Worker = (
  modules = [
    (name = "host.js", esModule = embed "host.js"),
    (name = "gadget.js", esModule = embed "gadget%d.js"),
    (name = "capnweb.js", esModule = embed "capnweb.js"),
  ],
  compatibilityDate = "2026-01-01",
  durableObjectNamespaces = [(className = "Gadget", uniqueKey = "gadgets%d", enableSql = true)],
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
  compatibilityDate = "2026-01-01",
  bindings = [
%s  ],
);
%s`
