package capnweb

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// protocolError is a fixed text that ends the session; it may be shown to the peer.
type protocolError string

func (e protocolError) Error() string { return string(e) }

const (
	costValue  = 16 // the place of a value
	costNumber = 8  // what is allocated for a value besides its place
	costText   = 16
	costList   = 24
	costField  = 32 // a property besides its value and the text of its key

	errNotJSON = protocolError("bad RPC message: not valid JSON")
	errTooDeep = protocolError("bad RPC message: nested too deeply")
)

// parser reads one JSON text into nil, bool, float64, string, []any and Object. It differs
// from encoding/json in keeping the order of keys, in its depth limit and in its fixed
// errors.
type parser struct {
	b     []byte
	i     int
	max   int
	used  int   // estimated bytes of the tree so far
	room  int   // what used may reach
	stack []any // elements of the arrays that are open
}

// parseJSON also returns an estimate of what the tree takes in memory, and fails as soon as
// that passes room.
func parseJSON(b []byte, maxDepth, room int) (any, int, error) {
	p := parser{b: b, max: maxDepth, room: room}
	return p.whole()
}

func (p *parser) whole() (any, int, error) {
	v, err := p.value(0)
	if err != nil {
		return nil, 0, err
	}
	p.space()
	if p.i != len(p.b) {
		return nil, 0, errNotJSON
	}
	if p.used > p.room {
		return nil, 0, errTooMuchHeld
	}
	return v, p.used, nil
}

func (p *parser) space() {
	for p.i < len(p.b) {
		switch p.b[p.i] {
		case ' ', '\t', '\r', '\n':
			p.i++
		default:
			return
		}
	}
}

func (p *parser) value(depth int) (any, error) {
	p.space()
	if p.i >= len(p.b) {
		return nil, errNotJSON
	}
	if depth > p.max {
		return nil, errTooDeep
	}
	if p.used += costValue; p.used > p.room {
		return nil, errTooMuchHeld
	}
	switch c := p.b[p.i]; c {
	case '"':
		p.used += costText
		return p.textValue()
	case '[':
		p.used += costList
		return p.array(depth)
	case '{':
		p.used += costList
		return p.object(depth)
	case 't':
		return true, p.word("true")
	case 'f':
		return false, p.word("false")
	case 'n':
		return nil, p.word("null")
	default:
		p.used += costNumber
		return p.number()
	}
}

// Boxed values that occur in nearly every message, so that parsing them allocates nothing.
var (
	boxedWords = boxWords("push", "pull", "pipeline", "resolve", "reject", "release", "stream", "import", "export", "promise", "undefined")
	boxedInts  = boxInts(256)
)

func boxWords(words ...string) map[string]any {
	out := map[string]any{}
	for _, w := range words {
		out[w] = w
	}
	return out
}

func boxInts(n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = float64(i)
	}
	return out
}

// textValue reads a string as a value.
func (p *parser) textValue() (any, error) {
	if end := bytes.IndexByte(p.b[p.i+1:], '"'); end > 0 && end <= 9 {
		if w, ok := boxedWords[string(p.b[p.i+1:p.i+1+end])]; ok {
			p.i += end + 2
			return w, nil
		}
	}
	return p.text()
}

func (p *parser) word(w string) error {
	if len(p.b)-p.i < len(w) || string(p.b[p.i:p.i+len(w)]) != w {
		return errNotJSON
	}
	p.i += len(w)
	return nil
}

// next skips space and tells which of two bytes follows, consuming it.
func (p *parser) next(more, end byte) (bool, error) {
	p.space()
	if p.i >= len(p.b) || (p.b[p.i] != more && p.b[p.i] != end) {
		return false, errNotJSON
	}
	p.i++
	return p.b[p.i-1] == more, nil
}

func (p *parser) array(depth int) (any, error) {
	p.i++
	p.space()
	if p.i < len(p.b) && p.b[p.i] == ']' {
		p.i++
		return []any{}, nil
	}
	start := len(p.stack)
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		p.stack = append(p.stack, v)
		more, err := p.next(',', ']')
		if err != nil {
			return nil, err
		}
		if !more {
			out := make([]any, len(p.stack)-start)
			copy(out, p.stack[start:])
			clear(p.stack[start:])
			p.stack = p.stack[:start]
			return out, nil
		}
	}
}

func (p *parser) object(depth int) (any, error) {
	p.i++
	p.space()
	out := Object{}
	if p.i < len(p.b) && p.b[p.i] == '}' {
		p.i++
		return out, nil
	}
	var seen map[string]int
	for {
		p.space()
		if p.i >= len(p.b) || p.b[p.i] != '"' {
			return nil, errNotJSON
		}
		key, err := p.text()
		if err != nil {
			return nil, err
		}
		if ok, err := p.next(':', ':'); !ok || err != nil {
			return nil, errNotJSON
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		p.used += costField
		out, seen = setField(out, seen, key, v)
		more, err := p.next(',', '}')
		if err != nil {
			return nil, err
		}
		if !more {
			return out, nil
		}
	}
}

// setField adds a property; a repeated key replaces the value, as in JavaScript. seen is an
// index made only for large objects.
func setField(o Object, seen map[string]int, key string, v any) (Object, map[string]int) {
	if seen == nil && len(o) < 16 {
		for i := range o {
			if o[i].Key == key {
				o[i].Value = v
				return o, nil
			}
		}
		return append(o, Field{key, v}), nil
	}
	if seen == nil {
		seen = make(map[string]int, 32)
		for i := range o {
			seen[o[i].Key] = i
		}
	}
	if i, ok := seen[key]; ok {
		o[i].Value = v
		return o, seen
	}
	seen[key] = len(o)
	return append(o, Field{key, v}), seen
}

func (p *parser) number() (any, error) {
	start := p.i
	if p.i < len(p.b) && p.b[p.i] == '-' {
		p.i++
	}
	whole := p.digits()
	if whole == 0 || (whole > 1 && p.b[p.i-whole] == '0') {
		return nil, errNotJSON
	}
	simple := whole < 16
	if p.i < len(p.b) && p.b[p.i] == '.' {
		p.i++
		if p.digits() == 0 {
			return nil, errNotJSON
		}
		simple = false
	}
	if p.i < len(p.b) && (p.b[p.i] == 'e' || p.b[p.i] == 'E') {
		p.i++
		if p.i < len(p.b) && (p.b[p.i] == '+' || p.b[p.i] == '-') {
			p.i++
		}
		if p.digits() == 0 {
			return nil, errNotJSON
		}
		simple = false
	}
	text := p.b[start:p.i]
	if simple {
		return smallInteger(text), nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil && !math.IsInf(f, 0) {
		return nil, errNotJSON
	}
	return f, nil
}

func (p *parser) digits() int {
	start := p.i
	for p.i < len(p.b) && p.b[p.i] >= '0' && p.b[p.i] <= '9' {
		p.i++
	}
	return p.i - start
}

func smallInteger(text []byte) any {
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	n := int64(0)
	for _, c := range text {
		n = n*10 + int64(c-'0')
	}
	switch {
	case negative:
		return math.Copysign(float64(n), -1)
	case n < int64(len(boxedInts)):
		return boxedInts[n]
	}
	return float64(n)
}

func (p *parser) text() (string, error) {
	p.i++
	start := p.i
	ascii := true
	for p.i < len(p.b) {
		c := p.b[p.i]
		switch {
		case c == '"':
			s := string(p.b[start:p.i])
			p.used += len(s)
			p.i++
			if !ascii && !utf8.ValidString(s) {
				return "", errNotJSON
			}
			return s, nil
		case c == '\\':
			return p.escapedText(start)
		case c < 0x20:
			return "", errNotJSON
		case c >= 0x80:
			ascii = false
		}
		p.i++
	}
	return "", errNotJSON
}

func (p *parser) escapedText(start int) (string, error) {
	out := append(make([]byte, 0, p.i-start+32), p.b[start:p.i]...)
	defer func() { p.used += len(out) }()
	for p.i < len(p.b) {
		c := p.b[p.i]
		p.i++
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				return "", errNotJSON
			}
			return string(out), nil
		case c < 0x20:
			return "", errNotJSON
		case c != '\\':
			out = append(out, c)
			continue
		}
		var err error
		if out, err = p.escape(out); err != nil {
			return "", err
		}
	}
	return "", errNotJSON
}

func (p *parser) escape(out []byte) ([]byte, error) {
	if p.i >= len(p.b) {
		return nil, errNotJSON
	}
	c := p.b[p.i]
	p.i++
	switch c {
	case '"', '\\', '/':
		return append(out, c), nil
	case 'b':
		return append(out, '\b'), nil
	case 'f':
		return append(out, '\f'), nil
	case 'n':
		return append(out, '\n'), nil
	case 'r':
		return append(out, '\r'), nil
	case 't':
		return append(out, '\t'), nil
	case 'u':
		r, ok := p.hex4()
		if !ok {
			return nil, errNotJSON
		}
		if utf16.IsSurrogate(r) {
			r = p.lowSurrogate(r)
		}
		return utf8.AppendRune(out, r), nil
	}
	return nil, errNotJSON
}

// lowSurrogate joins the second half of a pair; half a pair alone becomes U+FFFD.
func (p *parser) lowSurrogate(high rune) rune {
	if p.i+1 < len(p.b) && p.b[p.i] == '\\' && p.b[p.i+1] == 'u' {
		at := p.i
		p.i += 2
		low, ok := p.hex4()
		if r := utf16.DecodeRune(high, low); ok && r != utf8.RuneError {
			return r
		}
		p.i = at
	}
	return utf8.RuneError
}

func (p *parser) hex4() (rune, bool) {
	if p.i+4 > len(p.b) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(p.b[p.i:p.i+4]), 16, 32)
	if err != nil {
		return 0, false
	}
	p.i += 4
	return rune(n), true
}
