package command

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"time"

	"toolshed/runtime/capnweb"
)

// formatJSON writes a protocol value as indented JSON, keys in the order they came. What JSON has no form for is written as
// a person would: a date as its ISO text, bytes as base64, a bigint as a decimal text, undefined and numbers without a
// value as null, a capability as {"capability": true}.
func formatJSON(v any) ([]byte, error) {
	var compact bytes.Buffer
	if err := writeJSON(&compact, v); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err := json.Indent(&out, compact.Bytes(), "", "  ")
	return out.Bytes(), err
}

func writeJSON(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case []any:
		return writeList(b, len(v), '[', ']', func(i int) error { return writeJSON(b, v[i]) })
	case capnweb.Object:
		return writeList(b, len(v), '{', '}', func(i int) error {
			if err := writePlain(b, v[i].Key); err != nil {
				return err
			}
			b.WriteByte(':')
			return writeJSON(b, v[i].Value)
		})
	}
	return writePlain(b, plain(v))
}

func writeList(b *bytes.Buffer, n int, open, close byte, item func(int) error) error {
	b.WriteByte(open)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := item(i); err != nil {
			return err
		}
	}
	b.WriteByte(close)
	return nil
}

func writePlain(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("command: the result has no JSON form: %w", err)
	}
	b.Truncate(b.Len() - 1) // the newline
	return nil
}

// plain gives a scalar a form that encoding/json knows.
func plain(v any) any {
	switch v := v.(type) {
	case capnweb.Undefined:
		return nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	case *big.Int:
		return v.String()
	case capnweb.Date:
		if math.IsNaN(float64(v)) {
			return nil
		}
		return v.Time().Format(time.RFC3339Nano)
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case capnweb.TypedArray:
		return base64.StdEncoding.EncodeToString(v.Bytes)
	case *capnweb.Error:
		return map[string]string{"name": v.Name, "message": v.Message}
	case capnweb.URL:
		return string(v)
	case *capnweb.Stub:
		return map[string]bool{"capability": true}
	}
	return v
}
