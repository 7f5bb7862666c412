package command

import (
	"context"
	"flag"
	"fmt"

	"toolshed/app/api"
	"toolshed/runtime/capnweb"
)

var newCommand = command{
	name:    "new",
	usage:   "--blueprint NAME [--title T]",
	summary: "make a gadget, in a workspace of its own unless --workspace names one",
	flags: func(flags *flag.FlagSet, call *invocation) {
		flags.StringVar(&call.blueprint, "blueprint", "", "the `name` of the blueprint, in lower case")
		flags.StringVar(&call.title, "title", "", "the gadget's `title` (default: the blueprint's)")
		flags.StringVar(&call.workspace, "workspace", "", "the `id` of a workspace")
	},
	run: func(ctx context.Context, call *invocation) error {
		if call.blueprint == "" || len(call.args) > 0 {
			return &usageError{"say what to make: toolshed new --blueprint board"}
		}
		return call.with(ctx, func(client *api.Client) error {
			answer, err := client.Call(ctx, "create", capnweb.Object{
				{Key: "blueprint", Value: call.blueprint}, {Key: "title", Value: call.title}, {Key: "workspace", Value: call.workspace},
			})
			if err != nil {
				return err
			}
			var made api.GadgetRef
			if err := api.Decode(answer, &made); err != nil {
				return err
			}
			if call.json {
				call.print(made)
			} else {
				fmt.Fprintf(call.Stdout, "Made gadget %s in workspace %s.\n", made.Gadget, made.Workspace)
			}
			return nil
		})
	},
}
