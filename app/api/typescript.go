package api

import (
	"fmt"
	"reflect"
	"strings"
)

// TypeScript is the text of frontend/src/kernel/api.gen.ts: the shell's methods and every type they name, in the order in
// which they are first named.
func TypeScript() string {
	w := &typeWriter{done: map[reflect.Type]bool{reflect.TypeFor[none](): true}}
	shell := (&connection{}).shell()
	var methods strings.Builder
	fmt.Fprintf(&methods, "export interface %s {\n", shell.name)
	for _, m := range shell.methods {
		parameter := ""
		if m.in != reflect.TypeFor[none]() {
			parameter = "p: " + w.inline(m.in)
		}
		fmt.Fprintf(&methods, "  %s(%s): Promise<%s>;\n", m.name, parameter, w.result(m.out))
	}
	methods.WriteString("}\n")
	return "// Generated from app/api by `make generate`. Do not edit.\n\n" + w.text.String() + methods.String()
}

// typeWriter collects the interfaces of the structs that methods name.
type typeWriter struct {
	text strings.Builder
	done map[reflect.Type]bool
}

func (w *typeWriter) result(t reflect.Type) string {
	if t == reflect.TypeFor[none]() {
		return "void"
	}
	return w.name(t)
}

// name is how TypeScript names a Go type. A struct is written out before anything that names it.
func (w *typeWriter) name(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return w.name(t.Elem())
	case reflect.Slice:
		return w.name(t.Elem()) + "[]"
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64, reflect.Float64:
		return "number"
	case reflect.Struct:
		w.declare(t)
		return t.Name()
	}
	panic("api: " + t.String() + " has no TypeScript type")
}

func (w *typeWriter) declare(t reflect.Type) {
	if w.done[t] {
		return
	}
	w.done[t] = true
	if t == reflect.TypeFor[Subscription]() {
		w.text.WriteString("export interface Subscription {\n  stop(): Promise<void>;\n  [Symbol.dispose](): void;\n}\n\n")
		return
	}
	body := w.fields(t, "  ", ";\n")
	fmt.Fprintf(&w.text, "export interface %s {\n%s}\n\n", t.Name(), body)
}

// inline writes a parameter: exported structs by name, others by their fields.
func (w *typeWriter) inline(t reflect.Type) string {
	if name := t.Name(); name[0] >= 'A' && name[0] <= 'Z' {
		return w.name(t)
	}
	return "{ " + strings.TrimSuffix(w.fields(t, "", "; "), "; ") + " }"
}

func (w *typeWriter) fields(t reflect.Type, before, after string) string {
	var b strings.Builder
	for _, f := range fieldsOf(t) {
		ts := f.ts
		if ft := t.Field(f.index).Type; ts == "" {
			ts = w.name(ft)
		} else if ft.Kind() == reflect.Pointer || ft == stubType {
			w.mention(ts)
		}
		optional := ""
		if f.optional {
			optional = "?"
		}
		fmt.Fprintf(&b, "%s%s%s: %s%s", before, f.name, optional, ts, after)
	}
	return b.String()
}

// mention declares the types that a callback's hand-written signature names.
func (w *typeWriter) mention(signature string) {
	for _, t := range []reflect.Type{reflect.TypeFor[State](), reflect.TypeFor[ConsoleLine]()} {
		if strings.Contains(signature, t.Name()) {
			w.declare(t)
		}
	}
}
