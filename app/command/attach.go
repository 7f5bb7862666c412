package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"toolshed/app"
	"toolshed/app/api"
	"toolshed/app/profile"
)

// attachPatience is how long a command waits for a program that holds the data folder but does not answer yet, or not any
// more: it is starting or closing.
const attachPatience = 5 * time.Second

// connect returns a client of the running Toolshed, or of one that it opens for this command. close ends either. The error
// is a Problem of the kind silent if a Toolshed runs and does not answer.
func (call *invocation) connect(ctx context.Context) (client *api.Client, close func() error, err error) {
	deadline := time.Now().Add(call.patience)
	for {
		client, attachErr := call.greet(ctx, deadline)
		if attachErr == nil {
			return client, func() error { client.Close(); return nil }, nil
		}
		program, err := app.Open(ctx, call.settings())
		if err == nil {
			client := program.Client(ctx)
			return client, func() error { client.Close(); return program.Close() }, nil
		}
		switch {
		case !errors.Is(err, profile.ErrInUse):
			return nil, nil, err
		case !errors.Is(attachErr, app.ErrNotRunning):
			return nil, nil, attachErr
		case time.Now().After(deadline):
			return nil, nil, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// greet attaches to the running Toolshed and waits for a first answer, because one that hangs, or is just closing, accepts
// connections too. The error is app.ErrNotRunning if there is none, or if it went away before it answered.
func (call *invocation) greet(ctx context.Context, deadline time.Time) (*api.Client, error) {
	client, err := app.Attach(ctx, call.data)
	if err != nil {
		return nil, err
	}
	answered, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	_, err = client.Call(answered, "status")
	switch {
	case err == nil:
		return client, nil
	case ctx.Err() != nil:
		err = ctx.Err()
	case answered.Err() != nil:
		err = call.silent()
	case errors.Is(err, api.ErrLost):
		err = fmt.Errorf("%w: %w", app.ErrNotRunning, err)
	}
	client.Close()
	return nil, err
}

func (call *invocation) settings() app.Settings {
	return app.Settings{Data: call.data, Build: call.Build, Child: call.Child, Log: call.Log}
}

// with runs f with a client and closes it.
func (call *invocation) with(ctx context.Context, f func(*api.Client) error) error {
	client, close, err := call.connect(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(client), close())
}
