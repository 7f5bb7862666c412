package command

import (
	"context"
	"fmt"
	"path/filepath"
	"text/tabwriter"
	"time"

	"toolshed/runtime/host"
)

const benchTimeout = 10 * time.Minute

// benchmark is one figure of `toolshed bench`.
type benchmark struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Runs  int     `json:"runs"`
}

var benchCommand = command{
	name:    "bench",
	summary: "measure the sandbox on this machine: calls, starts, memory, runaway code",
	run: func(ctx context.Context, call *invocation) error {
		if len(call.args) > 0 {
			return &usageError{"bench takes no arguments"}
		}
		ctx, cancel := context.WithTimeout(ctx, benchTimeout)
		defer cancel()
		figures, err := host.Measure(ctx, host.Config{Command: call.Child, Build: call.Build, CacheDir: filepath.Join(call.data, "cache", "engine"), Log: call.Log})
		if err != nil {
			return err
		}
		list := make([]benchmark, len(figures))
		for i, f := range figures {
			list[i] = benchmark(f)
		}
		if call.json {
			call.print(map[string]any{"benchmarks": list})
			return nil
		}
		table := tabwriter.NewWriter(call.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		for _, f := range list {
			fmt.Fprintf(table, "%s\t%.4g\t%s\t%d runs\t\n", f.Name, f.Value, f.Unit, f.Runs)
		}
		return table.Flush()
	},
}
