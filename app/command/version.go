package command

import (
	"context"
	"fmt"
	"runtime"
)

var versionCommand = command{
	name:    "version",
	summary: "print which build this is",
	run: func(ctx context.Context, call *invocation) error {
		if call.json {
			call.print(map[string]any{"build": call.Build, "window": call.Window != nil, "go": runtime.Version()})
		} else {
			fmt.Fprintf(call.Stdout, "toolshed %s (%s)\n", call.Build, runtime.Version())
		}
		return nil
	},
}
