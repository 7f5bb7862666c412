package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"toolshed/runtime/host"
)

// check is one line of what `toolshed check` found.
type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

const checkTimeout = 60 * time.Second

var checkCommand = command{
	name:    "check",
	summary: "check this installation: its parts, the data folder, and that the sandbox holds",
	run: func(ctx context.Context, call *invocation) error {
		if len(call.args) > 0 {
			return &usageError{"check takes no arguments"}
		}
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		checks := []check{call.checkPage(), call.checkData(ctx)}
		checks = append(checks, call.checkSandbox(ctx)...)
		failed := 0
		for _, c := range checks {
			if !c.OK {
				failed++
			}
		}
		call.printChecks(checks)
		if failed > 0 {
			return errReported
		}
		return nil
	},
}

func (call *invocation) printChecks(checks []check) {
	if call.json {
		call.print(map[string]any{"checks": checks})
		return
	}
	failed := 0
	for _, c := range checks {
		mark := "ok    "
		if !c.OK {
			mark = "FAILED"
			failed++
		}
		fmt.Fprintf(call.Stdout, "%s  %-22s %s\n", mark, c.Name, c.Detail)
	}
	if failed > 0 {
		fmt.Fprintf(call.Stdout, "\n%d of %d checks failed.\n", failed, len(checks))
	}
}

func result(name string, err error, good string) check {
	if err != nil {
		return check{name, false, explain(err).Error()}
	}
	return check{name, true, good}
}

func (call *invocation) checkPage() check {
	_, err := call.page()
	return result("page", err, "the page is built in")
}

func (call *invocation) checkData(ctx context.Context) check {
	client, close, err := call.connect(ctx)
	if err == nil {
		_, err = client.Call(ctx, "list")
		if closeErr := close(); err == nil {
			err = closeErr
		}
	}
	return result("data folder", err, call.data)
}

// checkSandbox starts a child as for a gadget and lets it try what it must be refused.
func (call *invocation) checkSandbox(ctx context.Context) []check {
	cache := filepath.Join(call.data, "cache", "engine")
	if _, err := os.Stat(cache); err != nil {
		cache = ""
	}
	child, err := host.StartChild(ctx, host.Config{Command: call.Child, Build: call.Build, CacheDir: cache, Log: call.Log})
	if err != nil {
		return []check{result("sandbox", err, "")}
	}
	defer child.Close()
	attempts, err := child.Probe(ctx)
	checks := []check{result("sandbox", err, "a child starts")}
	for _, a := range attempts {
		c := check{"sandbox: " + a.Name, a.Refused, "refused: " + strings.TrimSpace(a.Detail)}
		if !a.Refused {
			c.Detail = "the sandbox let it happen: " + a.Detail
		}
		checks = append(checks, c)
	}
	return checks
}
