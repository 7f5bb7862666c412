package api

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"toolshed/app/overseer"
	"toolshed/runtime/capnweb"
)

// none is the parameter or result of a method that has none.
type none struct{}

// method is one entry of a role's table.
type method struct {
	name    string
	in, out reflect.Type
	call    func(ctx context.Context, in any) (any, error)
}

// bind puts a Go function into a role's table. Its parameter is a struct of the fields that the caller names.
func bind[In, Out any](name string, f func(context.Context, In) (Out, error)) method {
	return method{name, reflect.TypeFor[In](), reflect.TypeFor[Out](), func(ctx context.Context, in any) (any, error) {
		return f(ctx, in.(In))
	}}
}

// bindLong is bind for a function that takes its time: other calls of the same caller go on meanwhile.
func bindLong[In, Out any](name string, f func(context.Context, In) (Out, error)) method {
	m := bind(name, f)
	short := m.call
	m.call = func(ctx context.Context, in any) (any, error) {
		return capnweb.Async(ctx, func(ctx context.Context) (any, error) { return m.result(short(ctx, in)) }), nil
	}
	return m
}

// role is everything that one kind of caller may do. A name that is not in the table does not exist for that caller.
type role struct {
	name    string
	methods []method
}

// target makes the role's capability. Methods run one after the other in the order of the calls; each returns quickly.
func (r role) target() capnweb.Target {
	table := capnweb.Methods{}
	for _, m := range r.methods {
		table[m.name] = m.invoke
	}
	return table
}

func (m method) invoke(ctx context.Context, args []any) (any, error) {
	in := reflect.New(m.in).Elem()
	if m.in != reflect.TypeFor[none]() {
		var first any = capnweb.Object{}
		if len(args) > 0 {
			first = args[0]
		}
		if err := decode(in, first, ""); err != nil {
			return nil, err
		}
	}
	return m.result(m.call(ctx, in.Interface()))
}

// result makes a protocol value of what a method returned.
func (m method) result(out any, err error) (any, error) {
	switch out := out.(type) {
	case *capnweb.Promise:
		return out, err
	case none:
		return capnweb.Undefined{}, err
	case Subscription:
		return out.capability, err
	}
	if err != nil {
		return nil, err
	}
	return encode(reflect.ValueOf(out)), nil
}

// sendError makes what a caller is told of an error: a Problem as an Error whose name is its kind and whose properties are
// its sentences. What a gadget threw passes as it is.
func sendError(err error) error {
	if thrown := thrownBy(err); thrown != nil {
		return thrown
	}
	return wireProblem(overseer.Explain(err))
}

// sendFrameError is sendError for a gadget's frame. Of the program's failures it learns why only if the reason lies in the
// gadget: the others name folders of this computer.
func sendFrameError(err error) error {
	if thrown := thrownBy(err); thrown != nil {
		return thrown
	}
	return wireProblem(overseer.Explain(err).ForGadget())
}

// thrownBy returns what a gadget threw, or nil for an error of the program's own.
func thrownBy(err error) error {
	var thrown *capnweb.Error
	var value *capnweb.Thrown
	switch {
	case errors.As(err, &thrown):
		return thrown
	case errors.As(err, &value):
		return value
	}
	return nil
}

func wireProblem(p *overseer.Problem) *capnweb.Error {
	return &capnweb.Error{Name: p.Kind, Message: p.Error(), Props: capnweb.Object{
		{Key: "kind", Value: p.Kind}, {Key: "what", Value: p.What}, {Key: "why", Value: p.Why}, {Key: "todo", Value: p.Todo}, {Key: "detail", Value: p.Detail},
	}}
}

// receiveError is the inverse of sendError, for a caller in Go: an error that carries a Problem becomes it again.
func receiveError(err error) error {
	var e *capnweb.Error
	if !errors.As(err, &e) {
		return err
	}
	text := func(key string) string {
		v, _ := e.Props.Get(key)
		s, _ := v.(string)
		return s
	}
	if text("kind") == "" || text("what") == "" {
		return &overseer.Problem{Kind: "internal", What: "The running Toolshed did not understand", Why: fmt.Sprint(e), Todo: "It may be of another version: close it and start it again."}
	}
	return &overseer.Problem{Kind: text("kind"), What: text("what"), Why: text("why"), Todo: text("todo"), Detail: text("detail")}
}
