package api

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"toolshed/app/overseer"
	"toolshed/runtime/capnweb"
)

// field is one exported field of a parameter or result struct as the wire sees it.
type field struct {
	index    int
	name     string
	optional bool // omitempty
	ts       string
}

func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || name == "" || !f.IsExported() {
			continue
		}
		out = append(out, field{i, name, strings.Contains(options, "omitempty"), f.Tag.Get("ts")})
	}
	return out
}

var stubType = reflect.TypeFor[*capnweb.Stub]()

// encode makes a protocol value of a Go value: structs become objects by their json names, absent optional fields are left
// out.
func encode(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Invalid:
		return capnweb.Undefined{}
	case reflect.Interface:
		return encode(v.Elem())
	case reflect.Pointer:
		if v.Type() == stubType {
			return v.Interface()
		}
		if v.IsNil() {
			return nil
		}
		return encode(v.Elem())
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = encode(v.Index(i))
		}
		return list
	case reflect.Struct:
		object := capnweb.Object{}
		for _, f := range fieldsOf(v.Type()) {
			if fv := v.Field(f.index); !f.optional || !fv.IsZero() {
				object = append(object, capnweb.Field{Key: f.name, Value: encode(fv)})
			}
		}
		return object
	}
	return v.Interface()
}

// decode fills the Go value from a protocol value. What the peer sent is checked against the Go type; a field that is
// missing stays zero if it is optional, and is a mistake otherwise; an unknown field is ignored. A stub that is decoded
// still belongs to the call.
func decode(to reflect.Value, from any, where string) error {
	if to.Type() == stubType {
		s, ok := from.(*capnweb.Stub)
		if !ok {
			return badArgument(where, "a function")
		}
		to.Set(reflect.ValueOf(s))
		return nil
	}
	switch to.Kind() {
	case reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		return decode(to.Elem(), from, where)
	case reflect.Struct:
		return decodeStruct(to, from, where)
	case reflect.Slice:
		list, ok := from.([]any)
		if !ok {
			return badArgument(where, "a list")
		}
		to.Set(reflect.MakeSlice(to.Type(), len(list), len(list)))
		for i, item := range list {
			if err := decode(to.Index(i), item, fmt.Sprintf("%s[%d]", where, i)); err != nil {
				return err
			}
		}
		return nil
	}
	return decodeScalar(to, from, where)
}

func decodeStruct(to reflect.Value, from any, where string) error {
	object, ok := from.(capnweb.Object)
	if !ok {
		return badArgument(where, "an object")
	}
	for _, f := range fieldsOf(to.Type()) {
		name := f.name
		if where != "" {
			name = where + "." + f.name
		}
		value, given := object.Get(f.name)
		if _, undefined := value.(capnweb.Undefined); undefined || !given {
			if !f.optional {
				return badArgument(name, "present")
			}
			continue
		}
		if err := decode(to.Field(f.index), value, name); err != nil {
			return err
		}
	}
	return nil
}

func decodeScalar(to reflect.Value, from any, where string) error {
	switch to.Kind() {
	case reflect.String:
		if s, ok := from.(string); ok {
			to.SetString(s)
			return nil
		}
		return badArgument(where, "a text")
	case reflect.Bool:
		if b, ok := from.(bool); ok {
			to.SetBool(b)
			return nil
		}
		return badArgument(where, "true or false")
	case reflect.Int, reflect.Int64:
		if n, ok := from.(float64); ok && n == math.Trunc(n) && math.Abs(n) <= 1<<53 {
			to.SetInt(int64(n))
			return nil
		}
		return badArgument(where, "a whole number")
	}
	panic("api: a parameter has the type " + to.Type().String() + ", which the wire has no form for")
}

func badArgument(name, want string) error {
	if name == "" {
		name = "the argument"
	}
	return &overseer.Problem{Kind: "bad-argument", What: "The call could not be made", Why: fmt.Sprintf("%s must be %s", name, want), Todo: "Correct the call."}
}

func encodeAny(v any) any { return encode(reflect.ValueOf(v)) }
