package command

import (
	"context"
	"errors"
	"time"

	"toolshed/app"
	"toolshed/app/api"
	"toolshed/app/profile"
)

var openCommand = command{
	name:    "open",
	summary: "open the window, or bring it to the front if it is open",
	run: func(ctx context.Context, call *invocation) error {
		if len(call.args) > 0 {
			return &usageError{"open takes no arguments"}
		}
		if raised, err := call.raise(ctx); raised || err != nil {
			return call.trouble(ctx, err)
		}
		if call.Window == nil {
			if err := call.OpenSibling([]string{"open", "--data", call.data}); err != nil {
				call.Log.Info("serving to the browser instead of a window", "reason", err)
			}
			return serveCommand.run(ctx, call)
		}
		page, err := call.page()
		if err != nil {
			return call.trouble(ctx, err)
		}
		program, err := app.Open(ctx, call.settings())
		if errors.Is(err, profile.ErrInUse) { // another start was quicker
			if raised, raiseErr := call.raise(ctx); raised {
				return nil
			} else if raiseErr != nil {
				err = raiseErr
			}
		}
		if err != nil {
			return call.trouble(ctx, err)
		}
		return errors.Join(call.Window(ctx, program, page), program.Close())
	},
}

// trouble shows the error, if there is one, in a window of its own where this build has one, and returns it.
func (call *invocation) trouble(ctx context.Context, err error) error {
	if err == nil || call.Trouble == nil || ctx.Err() != nil {
		return err
	}
	return errors.Join(err, call.Trouble(ctx, explain(err)))
}

// raise brings the window of a running Toolshed to the front. False means that none is running.
func (call *invocation) raise(ctx context.Context) (bool, error) {
	client, err := call.greet(ctx, time.Now().Add(call.patience))
	switch {
	case errors.Is(err, app.ErrNotRunning), errors.Is(err, app.ErrNotPrivate):
		return false, nil // in the second case nobody can listen there, and the data folder's lock has the last word
	case err != nil:
		return false, err
	}
	defer client.Close()
	return true, askToRaise(ctx, client)
}

func askToRaise(ctx context.Context, client *api.Client) error {
	_, err := client.Call(ctx, "raise")
	return err
}
