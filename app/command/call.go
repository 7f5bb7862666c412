package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"toolshed/app/api"
	"toolshed/runtime/capnweb"
)

var callCommand = command{
	name:    "call",
	usage:   "GADGET METHOD [JSON…]",
	summary: "call a method of a gadget (its id, or its title) and print the result as JSON",
	run: func(ctx context.Context, call *invocation) error {
		if len(call.args) < 2 {
			return &usageError{"say which gadget and which method: toolshed call Board snapshot"}
		}
		args := []any{capnweb.Object{{Key: "gadget", Value: call.args[0]}, {Key: "method", Value: call.args[1]}}}
		for i, text := range call.args[2:] {
			v, err := parseJSON(text)
			if err != nil {
				return &usageError{fmt.Sprintf("argument %d is not JSON (%v); a text needs quotes: '\"like this\"'", i+1, err)}
			}
			args = append(args, v)
		}
		return call.with(ctx, func(client *api.Client) error {
			answer, err := client.Call(ctx, "call", args...)
			if err != nil {
				return err
			}
			defer capnweb.DisposeValue(answer)
			text, err := formatJSON(answer)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(call.Stdout, "%s\n", text)
			return err
		})
	},
}

func parseJSON(text string) (any, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	var v any
	if err := d.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it is empty")
		}
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return v, nil
}
