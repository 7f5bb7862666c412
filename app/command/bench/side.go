package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/coder/websocket"

	"toolshed/app/code"
	"toolshed/app/overseer"
	"toolshed/app/serve"
	"toolshed/runtime/capnweb"
)

// gadgetCode is the class that both sides run. The number stands in the code, so that gadgets can be different.
func gadgetCode(number int) string {
	return fmt.Sprintf(`import { DurableObject } from "cloudflare:workers";
const number = %d;
export class Gadget extends DurableObject {
  ping() { return this.n = (this.n ?? 0) + 1; }
  number() { return number; }
  async write(n) { await this.ctx.storage.put("n", n); return n; }
  async read() { return (await this.ctx.storage.get("n")) ?? null; }
}
`, number)
}

// Kinds of gadgets: gadgetsOfEach with the same code, and as many with a code of their own.
const (
	sameGadgets   = 400
	uniqueGadgets = 100
)

// index says where each of a side's gadgets is, by its path in an address.
type index map[string]overseer.Ref

const indexFile = "gadgets.json"

// Side is the program as the driver sees it: a kernel whose gadgets can be reached over WebSockets on loopback at
// /same/N and /unique/N, and at /rpc a capability that only computes. It answers no one but the machine it runs on, has
// no page and no person's data, and runs until ctx ends. It makes its gadgets when the folder is new.
func Side(ctx context.Context, o Options, data string, port int, out io.Writer) error {
	k, err := overseer.Open(ctx, overseer.Options{Folder: filepath.Join(data, "workspaces"), Child: o.Child, Build: o.Build, Cache: o.Cache, Author: "bench", GadgetIdle: -1, Log: o.Log})
	if err != nil {
		return err
	}
	defer k.Close()
	all, err := readIndex(data)
	if err != nil {
		if all, err = makeGadgets(k, data); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(ctx, k, all, o.Log), ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintln(out, "ready")
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}

func readIndex(data string) (index, error) {
	b, err := os.ReadFile(filepath.Join(data, indexFile))
	if err != nil {
		return nil, err
	}
	var all index
	return all, json.Unmarshal(b, &all)
}

func makeGadgets(k *overseer.Kernel, data string) (index, error) {
	all := index{}
	workspace := ""
	repository := (*code.Repository)(nil)
	add := func(path, source string) error {
		ref, err := k.CreateGadget(overseer.NewGadget{Blueprint: "board", Title: path, Workspace: workspace})
		if err != nil {
			return err
		}
		if workspace == "" {
			workspace = ref.Workspace
			if repository, err = code.Open(filepath.Join(data, "workspaces", workspace, "code.git")); err != nil {
				return err
			}
		}
		all[path] = ref
		_, err = repository.Commit(ref.Gadget, code.Files{"server.js": []byte(source)}, code.Change{Author: "bench", Message: path, Time: time.Now()})
		return err
	}
	for n := range sameGadgets {
		if err := add(fmt.Sprint("/same/", n), gadgetCode(0)); err != nil {
			return nil, err
		}
	}
	for n := range uniqueGadgets {
		if err := add(fmt.Sprint("/unique/", n), gadgetCode(n+1)); err != nil {
			return nil, err
		}
	}
	b, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return all, os.WriteFile(filepath.Join(data, indexFile), b, 0o600)
}

func handler(ctx context.Context, k *overseer.Kernel, all index, log *slog.Logger) http.Handler {
	square := capnweb.Methods{"square": func(_ context.Context, args []any) (any, error) {
		x, _ := args[0].(float64)
		return x * x, nil
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var main any = square
		if ref, known := all[r.URL.Path]; known {
			stub, err := k.Connect(ref)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			defer stub.Dispose()
			main = stub
		} else if r.URL.Path != "/rpc" {
			http.NotFound(w, r)
			return
		}
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
		if err != nil {
			return
		}
		conn.SetReadLimit(32 << 20)
		session := capnweb.NewSession(serve.NewTransport(conn), main, nil)
		select {
		case <-session.Done():
		case <-ctx.Done():
			session.Close()
		}
		if err := session.Err(); err != nil {
			log.Debug("a session of the benchmark ended", "error", err)
		}
	})
}
