package command

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"toolshed/app/command/bench"
)

const benchTimeout = 30 * time.Minute

var benchCommand = command{
	name:    "bench",
	usage:   "[--only NAME] [--modules FOLDER]",
	summary: "measure this program on this machine, beside workerd where npm has installed it",
	flags: func(flags *flag.FlagSet, call *invocation) {
		flags.StringVar(&call.only, "only", "", "take only figures whose names begin with `NAME`")
		flags.StringVar(&call.modules, "modules", "", "the node_modules `folder` with capnweb, ws and workerd (default: the source tree's)")
		flags.IntVar(&call.side, "side", 0, "be the side that the benchmark drives, on this `port` of 127.0.0.1; used by bench itself")
	},
	run: func(ctx context.Context, call *invocation) error {
		if len(call.args) > 0 {
			return &usageError{"usage: toolshed bench [--only NAME] [--modules FOLDER]"}
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		o := bench.Options{Child: call.Child, Self: self, Build: call.Build, Cache: filepath.Join(call.data, "cache", "engine"),
			Modules: bench.FindModules(call.modules), Only: call.only, Log: call.Log,
			Note: func(text string) { fmt.Fprintln(call.Stderr, text) }}
		if call.side != 0 {
			return bench.Side(ctx, o, call.data, call.side, call.Stdout)
		}
		ctx, cancel := context.WithTimeout(ctx, benchTimeout)
		defer cancel()
		figures, err := bench.Run(ctx, o)
		if call.json {
			call.print(map[string]any{"benchmarks": figures})
		} else {
			printFigures(call, figures)
		}
		if err != nil {
			fmt.Fprintf(call.Stderr, "toolshed: some figures are missing: %v\n", err)
			return errReported
		}
		return nil
	},
}

func printFigures(call *invocation, figures []bench.Figure) {
	table := tabwriter.NewWriter(call.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, f := range figures {
		peer, ratio := "", ""
		if f.Peer != nil {
			peer = fmt.Sprintf("%.4g", *f.Peer)
		}
		if f.Ratio != nil {
			ratio = fmt.Sprintf("× %.2f", *f.Ratio)
		}
		fmt.Fprintf(table, "%s\t%.4g\t%s\t%s\t%s\t%d runs\t\n", f.Name, f.Value, f.Unit, peer, ratio, f.Runs)
	}
	_ = table.Flush() // a reader that has gone needs no answer
}
