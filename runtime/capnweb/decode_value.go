package capnweb

import (
	"encoding/base64"
	"math"
	"math/big"
	"strings"
)

func (e *evaluator) errorValue(pl *payload, at *any, l []any, depth int) error {
	if len(l) < 3 || len(l) > 5 {
		return errBadValue
	}
	name, ok1 := l[1].(string)
	message, ok2 := l[2].(string)
	if !ok1 || !ok2 {
		return errBadValue
	}
	out := &Error{Name: name, Message: message}
	*at = out
	if len(l) > 3 {
		out.Stack, _ = l[3].(string)
	}
	if len(l) < 5 {
		return nil
	}
	raw, ok := l[4].(Object)
	if !ok {
		return errBadValue
	}
	props := make(Object, 0, len(raw))
	for i := range raw {
		switch raw[i].Key {
		case "name", "message", "stack":
			continue
		}
		props = append(props, raw[i])
	}
	var cell any
	if err := e.object(pl, &cell, props, depth); err != nil {
		return err
	}
	out.Props, _ = cell.(Object)
	return nil
}

// plainValue evaluates the forms without parts; nil means another form.
func plainValue(kind string, l []any) (any, error) {
	if len(l) == 1 {
		switch kind {
		case "undefined":
			return Undefined{}, nil
		case "inf":
			return math.Inf(1), nil
		case "-inf":
			return math.Inf(-1), nil
		case "nan":
			return math.NaN(), nil
		}
		return nil, errBadValue
	}
	switch kind {
	case "bigint":
		return bigInt(l)
	case "date":
		return date(l)
	case "bytes":
		return bytesValue(l)
	case "url":
		if s, ok := l[1].(string); ok && len(l) == 2 {
			return URL(s), nil
		}
		return nil, errBadValue
	case "headers":
		return headers(l)
	}
	return nil, nil
}

func bigInt(l []any) (any, error) {
	s, ok := l[1].(string)
	if !ok || len(l) != 2 {
		return nil, errBadValue
	}
	if len(s) > maxBigIntDigits {
		return nil, errBigInt
	}
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return nil, errBadValue
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil, errBadValue
	}
	return n, nil
}

func date(l []any) (any, error) {
	if len(l) != 2 {
		return nil, errBadValue
	}
	switch ms := l[1].(type) {
	case nil:
		return Date(math.NaN()), nil
	case float64:
		if math.Abs(ms) > 8.64e15 {
			return Date(math.NaN()), nil
		}
		return Date(math.Trunc(ms)), nil
	}
	return nil, errBadValue
}

func bytesValue(l []any) (any, error) {
	text, ok := l[1].(string)
	if !ok || len(l) > 3 {
		return nil, errBadValue
	}
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return nil, errBytes
	}
	if len(l) == 2 {
		return b, nil
	}
	kind, ok := l[2].(string)
	size := elementSize[kind]
	if !ok || size == 0 || len(b)%size != 0 {
		return nil, errBytes
	}
	if kind == "Uint8Array" {
		return b, nil
	}
	return TypedArray{Kind: kind, Bytes: b}, nil
}

func headers(l []any) (any, error) {
	pairs, ok := l[1].([]any)
	if !ok || len(l) != 2 {
		return nil, errBadValue
	}
	out := make(Headers, 0, len(pairs))
	for _, p := range pairs {
		pair, ok := p.([]any)
		if !ok || len(pair) != 2 {
			return nil, errBadValue
		}
		name, ok1 := pair[0].(string)
		value, ok2 := pair[1].(string)
		if !ok1 || !ok2 {
			return nil, errBadValue
		}
		out = append(out, [2]string{name, value})
	}
	return out, nil
}
