package command

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"toolshed/app"
	"toolshed/app/serve"
)

var serveCommand = command{
	name:    "serve",
	usage:   "[--port N]",
	summary: "serve the app to a browser on this computer and print the one-time link",
	flags: func(flags *flag.FlagSet, call *invocation) {
		flags.IntVar(&call.port, "port", 0, "the `port` on 127.0.0.1 (default: any that is free)")
	},
	run: func(ctx context.Context, call *invocation) error {
		if len(call.args) > 0 || call.port < 0 || call.port > 65535 {
			return &usageError{"usage: toolshed serve [--port N]"}
		}
		page, err := call.page()
		if err != nil {
			return err
		}
		program, err := app.Open(ctx, call.settings())
		if err != nil {
			return err
		}
		server, err := serve.Listen(program.API, page, call.port, call.Log)
		if err != nil {
			return errors.Join(err, program.Close())
		}
		if call.json {
			call.print(map[string]string{"link": server.Link()})
		} else {
			fmt.Fprintf(call.Stdout, "Toolshed is running. Open this link in a browser on this computer; it works once:\n\n  %s\n\nPress Ctrl-C to stop.\n", server.Link())
		}
		return errors.Join(server.Run(ctx), program.Close())
	},
}
