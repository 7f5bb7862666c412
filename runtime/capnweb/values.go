package capnweb

import (
	"math"
	"math/big"
	"net/url"
	"sort"
	"time"
)

// Undefined is JavaScript's undefined. (nil is null.)
type Undefined struct{}

// Date is a JavaScript Date: milliseconds since 1970, NaN when invalid.
type Date float64

// Time converts a valid Date.
func (d Date) Time() time.Time {
	ms := float64(d)
	if math.IsNaN(ms) || math.Abs(ms) > 8.64e15 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// URL is the href of a JavaScript URL object.
type URL string

// Headers are name and value pairs of a Fetch Headers object.
type Headers [][2]string

// TypedArray holds an ArrayBuffer, a DataView or any typed array other than Uint8Array
// (which is []byte). Bytes are little-endian.
type TypedArray struct {
	Kind  string
	Bytes []byte
}

// Field is one property of an Object.
type Field struct {
	Key   string
	Value any
}

// Object is a JavaScript object; its keys keep the order of the sender.
type Object []Field

// Get returns the value of key. When a key occurs twice the last one counts.
func (o Object) Get(key string) (any, bool) {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].Key == key {
			return o[i].Value, true
		}
	}
	return nil, false
}

// Error is a JavaScript Error. As a value it is data; returned as a Go error by a method it
// is thrown at the caller. Stack is sent only for an error made by Options.OnSendError.
type Error struct {
	Name    string
	Message string
	Stack   string
	Props   Object
}

// Error returns "Name: Message".
func (e *Error) Error() string {
	if e == nil {
		return "error"
	}
	if e.Name == "" || e.Name == "Error" {
		return e.Message
	}
	return e.Name + ": " + e.Message
}

// Thrown is the error of a call whose peer threw something that is not an Error.
type Thrown struct{ Value any }

// Error says that a value was thrown; the text of a thrown string is included.
func (t *Thrown) Error() string {
	if s, ok := t.Value.(string); ok {
		return "thrown value: " + s
	}
	return "thrown value"
}

func typeError(text string) *Error { return &Error{Name: "TypeError", Message: text} }
func plainError(text string) *Error {
	return &Error{Name: "Error", Message: text}
}

// elementSize lists the legal kinds of byte containers and the size of an element.
var elementSize = map[string]int{
	"ArrayBuffer": 1, "DataView": 1, "Int8Array": 1, "Uint8Array": 1, "Uint8ClampedArray": 1,
	"Int16Array": 2, "Uint16Array": 2, "Int32Array": 4, "Uint32Array": 4, "Float32Array": 4,
	"BigInt64Array": 8, "BigUint64Array": 8, "Float64Array": 8,
}

// reservedKeys are the names on Object.prototype, plus toJSON: never accepted from a peer as
// keys, never followed in a path.
var reservedKeys = map[string]bool{
	"__proto__": true, "constructor": true, "toString": true, "toLocaleString": true, "valueOf": true,
	"hasOwnProperty": true, "isPrototypeOf": true, "propertyIsEnumerable": true,
	"__defineGetter__": true, "__defineSetter__": true, "__lookupGetter__": true, "__lookupSetter__": true,
	"toJSON": true,
}

// onObjectPrototype tells whether a path may not go through name.
func onObjectPrototype(name string) bool { return name != "toJSON" && reservedKeys[name] }

// canonical turns the convenient Go types an application may hand in into the types this
// package decodes to. The second result is false for a type that cannot be sent.
func canonical(v any) (any, bool) {
	switch v := v.(type) {
	case int:
		return canonicalInt(int64(v))
	case int8:
		return float64(v), true
	case int16:
		return float64(v), true
	case int32:
		return float64(v), true
	case int64:
		return canonicalInt(v)
	case uint:
		return canonicalUint(uint64(v))
	case uint8:
		return float64(v), true
	case uint16:
		return float64(v), true
	case uint32:
		return float64(v), true
	case uint64:
		return canonicalUint(v)
	case float32:
		return float64(v), true
	case big.Int:
		return &v, true
	case time.Time:
		return Date(v.UnixMilli()), true
	case *url.URL:
		return URL(v.String()), true
	case map[string]any:
		return objectFromMap(v), true
	case []string:
		return list(v), true
	case []float64:
		return list(v), true
	case []int:
		return list(v), true
	case []Object:
		return list(v), true
	case []map[string]any:
		return list(v), true
	case []*Stub:
		return list(v), true
	case Target:
		return NewStub(v), true
	case error:
		return wireError(v), true
	}
	return nil, false
}

func list[T any](in []T) []any {
	out := make([]any, len(in))
	for i, v := range in {
		out[i] = v
	}
	return out
}

func objectFromMap(m map[string]any) Object {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	out := make(Object, len(keys))
	for i, k := range keys {
		out[i] = Field{k, m[k]}
	}
	return out
}

// An integer that a float64 cannot hold exactly is refused rather than rounded: send a
// *big.Int.
func canonicalInt(n int64) (any, bool) {
	return float64(n), n >= -(1<<53) && n <= 1<<53
}

func canonicalUint(n uint64) (any, bool) { return float64(n), n <= 1<<53 }
