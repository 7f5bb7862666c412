package command

import (
	"context"
	"fmt"
	"text/tabwriter"

	"toolshed/app/api"
)

var listCommand = command{
	name:    "list",
	summary: "list workspaces and their gadgets",
	run: func(ctx context.Context, call *invocation) error {
		if len(call.args) > 0 {
			return &usageError{"list takes no arguments"}
		}
		return call.with(ctx, func(client *api.Client) error {
			answer, err := client.Call(ctx, "list")
			if err != nil {
				return err
			}
			var list api.Workspaces
			if err := api.Decode(answer, &list); err != nil {
				return err
			}
			call.printList(list)
			return nil
		})
	},
}

func (call *invocation) printList(list api.Workspaces) {
	if call.json {
		call.print(list)
		return
	}
	if len(list.Workspaces) == 0 {
		fmt.Fprintln(call.Stdout, "There are no workspaces yet. `toolshed new --blueprint board` makes one with a gadget in it.")
		return
	}
	table := tabwriter.NewWriter(call.Stdout, 0, 0, 2, ' ', 0)
	for _, w := range list.Workspaces {
		fmt.Fprintf(table, "%s\t%s\t\n", w.ID, w.Title)
		if w.Problem != nil {
			fmt.Fprintf(table, "  \t  %s: %s\t\n", w.Problem.What, w.Problem.Why)
		}
		for _, g := range w.Gadgets {
			fmt.Fprintf(table, "  %s\t  %s\t%s\n", g.ID, g.Title, g.Status)
		}
	}
	_ = table.Flush() // a reader that has gone needs no answer
}
