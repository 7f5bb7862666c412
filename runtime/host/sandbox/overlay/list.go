package overlay

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"

	"toolshed/runtime/storage"
)

// maxLimit is the largest limit of a list that means anything.
const maxLimit = 1 << 30

// ParseList reads the options of a list as the prelude writes them, in JSON. The error is shown to the gadget.
func ParseList(text string) (storage.ListOptions, error) {
	var o struct {
		Start, StartAfter, End, Prefix string
		Reverse                        bool
		Limit                          float64
	}
	if err := json.Unmarshal([]byte(text), &o); err != nil || o.Limit != math.Trunc(o.Limit) || o.Limit < 0 {
		return storage.ListOptions{}, errors.New("list: the options are malformed")
	}
	return storage.ListOptions{Start: o.Start, StartAfter: o.StartAfter, End: o.End, Prefix: o.Prefix, Reverse: o.Reverse,
		Limit: int(min(o.Limit, maxLimit))}, nil
}

// ListText writes entries as the prelude reads them: a JSON array of pairs.
func ListText(entries []storage.Entry) (string, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // six bytes for one that needs no escape
	out.WriteByte('[')
	for k, e := range entries {
		if k > 0 {
			out.WriteByte(',')
		}
		if err := enc.Encode([2]string{e.Key, string(e.Value)}); err != nil {
			return "", err
		}
	}
	out.WriteByte(']')
	return out.String(), nil
}
