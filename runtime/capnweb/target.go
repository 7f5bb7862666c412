package capnweb

import (
	"context"
	"strings"
	"unicode/utf8"
)

// Target is an object that a peer may call. What it offers is explicit: nothing is found by
// reflection. Call is entered in message order and must return quickly; long work returns a
// *Promise. It may be entered from more than one goroutine. ctx ends with the session the
// call came from. The stubs inside args are disposed when the call ends (when the returned
// promise settles); Dup what is kept. Values in args may be shared and
// must not be modified. Method "" is a call of the object itself.
type Target interface {
	Call(ctx context.Context, method string, args []any) (any, error)
}

// PropertyTarget is a Target with readable properties. A stub it returns is given away, as
// in the result of a call. Without the interface every property is undefined.
type PropertyTarget interface {
	Property(ctx context.Context, name string) (any, error)
}

// Forwarder is a Target that takes the whole path of a call or property read at once, for
// proxies. It is entered in message order; promises inside args are not awaited. call is
// false for a property read (args is nil). args are disposed when Forward returns.
type Forwarder interface {
	Forward(ctx context.Context, path []any, args []any, call bool) *Promise
}

// Disposer is a Target that wants to know when its last reference is gone.
type Disposer interface{ Dispose() }

// Method is one callable of an object.
type Method func(ctx context.Context, args []any) (any, error)

// NoMethod is the error a Target returns for a name it does not know.
func NoMethod(name string) error {
	return typeError("'" + clipName(name) + "' is not a function.")
}

// Func makes a Target of a bare function: it is called with an empty path, so the peer sees
// a function.
func Func(f func(ctx context.Context, args []any) (any, error)) Target { return &function{f} }

type function struct{ f Method }

func (f *function) Call(ctx context.Context, method string, args []any) (any, error) {
	if method != "" {
		return nil, NoMethod(method)
	}
	return f.f(ctx, args)
}

// Methods is a Target made of a table of methods.
type Methods map[string]Method

// Call enters the method named.
func (m Methods) Call(ctx context.Context, method string, args []any) (any, error) {
	f, ok := m[method]
	if !ok || f == nil {
		return nil, NoMethod(method)
	}
	return f(ctx, args)
}

// HasMethod tells whether the table holds the method.
func (m Methods) HasMethod(name string) bool { return m[name] != nil }

// Table is a Target made of tables of methods and properties, with an optional function
// that runs when the last reference is gone.
type Table struct {
	Methods    Methods
	Properties map[string]func(ctx context.Context) (any, error)
	OnDispose  func()
}

// Call enters the method named.
func (t *Table) Call(ctx context.Context, method string, args []any) (any, error) {
	return t.Methods.Call(ctx, method, args)
}

// HasMethod tells whether the table holds the method.
func (t *Table) HasMethod(name string) bool { return t.Methods.HasMethod(name) }

// Property reads a property; an unknown one is undefined.
func (t *Table) Property(ctx context.Context, name string) (any, error) {
	if f := t.Properties[name]; f != nil {
		return f(ctx)
	}
	return Undefined{}, nil
}

// Dispose runs OnDispose.
func (t *Table) Dispose() {
	if t.OnDispose != nil {
		t.OnDispose()
	}
}

// methodLister lets a method be read as a value: reading it gives a stub of the method
// bound to its object, as in JavaScript.
type methodLister interface{ HasMethod(name string) bool }

// clipName shortens a name that a peer chose, for an error text.
func clipName(name string) string {
	if len(name) <= maxNameText {
		return name
	}
	end := maxNameText
	for end > 0 && !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + "..."
}

func pathText(path []any) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = partText(p)
	}
	return strings.Join(parts, ".")
}
