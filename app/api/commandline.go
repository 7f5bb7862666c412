package api

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"toolshed/app/overseer"
	"toolshed/runtime/capnweb"
)

// commandCall names a gadget by id or title, and what to call.
type commandCall struct {
	Gadget string `json:"gadget"`
	Method string `json:"method"`
}

// Workspaces is what the command line's list answers.
type Workspaces struct {
	Workspaces []Workspace `json:"workspaces"`
}

// Status says what program answers, and whether it has a window.
type Status struct {
	Build  string `json:"build"`
	Window bool   `json:"window"`
}

// CommandLine is the capability of whoever may open the program's socket: the same user, in a script or a terminal. It
// reads and calls; what it could decide is not in the table.
func (a *API) CommandLine() capnweb.Target {
	r := role{"CommandLine", []method{
		bind("status", func(ctx context.Context, _ none) (Status, error) {
			return Status{Build: a.build, Window: a.window() != nil}, nil
		}),
		bind("list", func(ctx context.Context, _ none) (Workspaces, error) {
			s, err := a.state()
			return Workspaces{s.Workspaces}, err
		}),
		bindLong("create", func(ctx context.Context, p createGadget) (GadgetRef, error) {
			ref, err := a.kernel.CreateGadget(overseer.NewGadget{Blueprint: p.Blueprint, Title: p.Title, Workspace: p.Workspace})
			return GadgetRef(ref), err
		}),
		bind("raise", func(ctx context.Context, _ none) (none, error) { return none{}, a.bringToFront() }),
	}}
	table := r.target().(capnweb.Methods)
	table["call"] = a.commandCall
	return table
}

// commandCall calls a gadget's method with the arguments that follow the first, and answers what the gadget does.
func (a *API) commandCall(ctx context.Context, args []any) (any, error) {
	m := bind("call", func(ctx context.Context, p commandCall) (any, error) {
		ref, err := a.kernel.Resolve(p.Gadget)
		if err != nil {
			return nil, err
		}
		stub, err := a.kernel.Connect(ref)
		if err != nil {
			return nil, err
		}
		defer stub.Dispose()
		answer := stub.Call(ctx, p.Method, args[1:]...)
		return capnweb.Async(ctx, func(ctx context.Context) (any, error) {
			value, err := answer.Await(ctx)
			return value, thrownProblem(p, err)
		}), nil
	})
	if len(args) == 0 {
		return nil, badArgument("", "present")
	}
	return m.invoke(ctx, args)
}

// thrownProblem makes a Problem of what a gadget threw, so that a gadget cannot pass its own words off as the program's.
// Any other error passes.
func thrownProblem(p commandCall, err error) error {
	thrown := thrownBy(err)
	if thrown == nil {
		return err
	}
	if thrown.Error() == capnweb.NoMethod(p.Method).Error() {
		return &overseer.Problem{Kind: "no-method", What: "The gadget has no such method", Why: fmt.Sprintf("%q has no method called %q", p.Gadget, p.Method), Todo: "Its README, or the class Gadget in its server.js, says which methods it has."}
	}
	return &overseer.Problem{Kind: "thrown", What: "The gadget answered with an error", Why: thrown.Error()}
}

func (a *API) window() func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.raise
}

func (a *API) bringToFront() error {
	raise := a.window()
	if raise == nil {
		return &overseer.Problem{Kind: "no-window", What: "Toolshed is running without a window", Why: "it was started with `toolshed serve`", Todo: "Open the link that it printed, or stop it and start `toolshed`."}
	}
	raise()
	return nil
}

// Attach speaks with one command-line client over transport until either side goes or ctx ends.
func (a *API) Attach(ctx context.Context, transport capnweb.Transport) error {
	session := capnweb.NewSession(transport, a.CommandLine(), &capnweb.Options{Name: "command line", MaxMessage: maxFrame, OnSendError: sendError})
	select {
	case <-session.Done():
	case <-ctx.Done():
		session.Close()
	}
	return session.Err()
}

// Client is the command line's end of Attach.
type Client struct {
	session *capnweb.Session
}

// NewClient speaks to a program that serves Attach at the other end of transport.
func NewClient(transport capnweb.Transport) *Client {
	return &Client{capnweb.NewSession(transport, capnweb.Methods{}, &capnweb.Options{Name: "toolshed", MaxMessage: maxFrame})}
}

// Call calls a method of the role and returns its result; an error that is the program's own is an *overseer.Problem.
func (c *Client) Call(ctx context.Context, method string, args ...any) (any, error) {
	result, err := c.session.Main().Call(ctx, method, args...).Await(ctx)
	if err != nil && c.session.Err() != nil && ctx.Err() == nil {
		return nil, errors.Join(ErrLost, err)
	}
	return result, receiveError(err)
}

// ErrLost means that the program at the other end went away before it answered.
var ErrLost = errors.New("the running Toolshed went away before it answered")

// Close ends the connection.
func (c *Client) Close() { c.session.Close() }

// Decode reads an answer of Call into the struct that into points to, such as a Workspaces. Anything that it does not expect is an error.
func Decode(answer any, into any) error { return decode(reflect.ValueOf(into).Elem(), answer, "") }
