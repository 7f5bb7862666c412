package capnweb

import (
	"encoding/base64"
	"errors"
	"math"
	"math/big"
	"strconv"
)

// encoder writes one value as an expression. Stubs enter the session's tables as they are
// met: exported ones are taken back when the message is not sent after all, imported ones
// are pinned so that no release overtakes the message that names them.
type encoder struct {
	s        *Session // nil: stubs are refused
	m        *Mapper  // set while the function of a map() is recorded
	buf      []byte
	before   int // bytes written elsewhere for the same message
	exports  []int64
	promises []int64 // exported promises, resolved only after the message is queued
	pins     []*importEntry
	pipes    []pipeStart
}

// undo takes back what the encoder put into the tables.
func (e *encoder) undo() {
	for _, id := range e.exports {
		e.s.unexport(id)
	}
	for _, p := range e.pipes {
		p.undo()
	}
	e.unpin()
}

func (e *encoder) unpin() {
	for _, entry := range e.pins {
		entry.unpin()
	}
	e.pins = nil
}

func (e *encoder) value(v any, depth int) error {
	if depth >= defaultMaxDepth {
		return plainError(errCycle)
	}
	if e.before+len(e.buf) > e.max() {
		return plainError(textMessageSize)
	}
	switch v := v.(type) {
	case nil:
		e.buf = append(e.buf, "null"...)
	case bool:
		e.buf = strconv.AppendBool(e.buf, v)
	case string:
		e.buf = appendString(e.buf, v)
	case float64:
		e.number(v)
	case Undefined:
		e.buf = append(e.buf, `["undefined"]`...)
	case []any:
		e.buf = append(e.buf, "[["...)
		if err := e.items(v, depth+1); err != nil {
			return err
		}
		e.buf = append(e.buf, "]]"...)
	case Object:
		return e.object(v, depth)
	case *Error:
		return e.error(v, depth)
	case *Stub:
		return e.stub(v)
	case *Promise:
		return e.promise(v)
	default:
		return e.other(v, depth)
	}
	return nil
}

const textMessageSize = "the value is too large to be sent"

// max is the size of a message.
func (e *encoder) max() int {
	if e.s == nil {
		return defaultMaxMessage
	}
	return e.s.opts.MaxMessage
}

func (e *encoder) items(v []any, depth int) error {
	for i := range v {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		if err := e.value(v[i], depth); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) number(f float64) {
	switch {
	case math.IsNaN(f):
		e.buf = append(e.buf, `["nan"]`...)
	case math.IsInf(f, 1):
		e.buf = append(e.buf, `["inf"]`...)
	case math.IsInf(f, -1):
		e.buf = append(e.buf, `["-inf"]`...)
	default:
		e.buf = appendNumber(e.buf, f)
	}
}

func (e *encoder) object(v Object, depth int) error {
	e.buf = append(e.buf, '{')
	for i := range v {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		e.buf = append(appendString(e.buf, v[i].Key), ':')
		if err := e.value(v[i].Value, depth+1); err != nil {
			return err
		}
	}
	e.buf = append(e.buf, '}')
	return nil
}

func (e *encoder) other(v any, depth int) error {
	switch v := v.(type) {
	case *big.Int:
		if v == nil {
			e.buf = append(e.buf, "null"...)
			return nil
		}
		e.buf = append(v.Append(append(e.buf, `["bigint","`...), 10), `"]`...)
	case Date:
		e.date(v)
	case []byte:
		e.bytes(v, "")
	case TypedArray:
		size, ok := elementSize[v.Kind]
		if !ok || len(v.Bytes)%size != 0 {
			return typeError("Cannot serialize value: an invalid typed array")
		}
		e.bytes(v.Bytes, v.Kind)
	case URL:
		e.buf = append(appendString(append(e.buf, `["url",`...), string(v)), ']')
	case Headers:
		e.headers(v)
	case *Expr:
		return e.expr(v)
	default:
		if done, err := e.stream(v); done {
			return err
		}
		c, ok := canonical(v)
		if !ok {
			return typeError("Cannot serialize value: a type that RPC does not carry")
		}
		if s, ok := c.(*Stub); ok {
			if e.m != nil {
				s.Dispose()
				return typeError(textMapTarget)
			}
			defer s.Dispose()
		}
		return e.value(c, depth)
	}
	return nil
}

func (e *encoder) date(d Date) {
	if f := float64(d); math.IsNaN(f) || math.IsInf(f, 0) {
		e.buf = append(e.buf, `["date",null]`...)
		return
	}
	e.buf = append(appendNumber(append(e.buf, `["date",`...), float64(d)), ']')
}

func (e *encoder) bytes(v []byte, kind string) {
	e.buf = append(e.buf, `["bytes","`...)
	e.buf = base64.RawStdEncoding.AppendEncode(e.buf, v)
	e.buf = append(e.buf, '"')
	if kind != "" && kind != "Uint8Array" {
		e.buf = append(append(append(e.buf, `,"`...), kind...), '"')
	}
	e.buf = append(e.buf, ']')
}

func (e *encoder) headers(v Headers) {
	e.buf = append(e.buf, `["headers",[`...)
	for i, h := range v {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		e.buf = append(appendString(append(e.buf, '['), h[0]), ',')
		e.buf = append(appendString(e.buf, h[1]), ']')
	}
	e.buf = append(e.buf, "]]"...)
}

// thrown writes the error of a failed call.
func (e *encoder) thrown(err error) error {
	var t *Thrown
	if errors.As(err, &t) {
		return (&encoder{}).into(e, t.Value)
	}
	return e.error(err, 0)
}

// into encodes v without a session and appends it to another encoder.
func (e *encoder) into(to *encoder, v any) error {
	if err := e.value(v, 0); err != nil {
		return err
	}
	to.buf = append(to.buf, e.buf...)
	return nil
}

func (e *encoder) error(err error, depth int) error {
	stack := ""
	if e.s != nil && e.s.opts.OnSendError != nil {
		v, failed := protect(func() (any, error) { return e.s.opts.OnSendError(err), nil }, e.s.ctx)
		if failed != nil {
			err = failed
		} else if changed, ok := v.(error); ok {
			err = changed
			stack = wireError(err).Stack
		}
	}
	w := wireError(err)
	e.buf = append(appendString(append(e.buf, `["error",`...), w.Name), ',')
	e.buf = appendString(e.buf, w.Message)
	props := e.errorProps(w.Props, depth)
	if stack != "" || props != nil {
		e.buf = append(e.buf, ',')
		if stack == "" {
			e.buf = append(e.buf, "null"...)
		} else {
			e.buf = appendString(e.buf, stack)
		}
	}
	if props != nil {
		e.buf = append(append(e.buf, ','), props...)
	}
	e.buf = append(e.buf, ']')
	return nil
}

// errorProps writes the properties of an error; those that cannot be sent are left out.
func (e *encoder) errorProps(props Object, depth int) []byte {
	var out []byte
	for _, f := range props {
		if f.Key == "name" || f.Key == "message" || f.Key == "stack" {
			continue
		}
		sub := encoder{s: e.s, m: e.m, before: e.before + len(e.buf) + len(out)}
		if sub.value(f.Value, depth+1) != nil {
			if e.s != nil {
				sub.undo()
			}
			continue
		}
		e.exports = append(e.exports, sub.exports...)
		e.promises = append(e.promises, sub.promises...)
		e.pins = append(e.pins, sub.pins...)
		e.pipes = append(e.pipes, sub.pipes...)
		if out == nil {
			out = append(out, '{')
		} else {
			out = append(out, ',')
		}
		out = append(appendString(out, f.Key), ':')
		out = append(out, sub.buf...)
	}
	if out != nil {
		out = append(out, '}')
	}
	return out
}

// wireError is the error as the peer may see it: name, message and properties.
func wireError(err error) *Error {
	var e *Error
	if errors.As(err, &e) && e != nil {
		if e.Name == "" {
			named := *e
			named.Name = "Error"
			return &named
		}
		return e
	}
	return plainError(err.Error())
}

func (e *encoder) stub(st *Stub) error {
	h := st.hook()
	if h == hook(errDisposedStub) {
		return plainError(textDisposedHook)
	}
	if e.m != nil {
		return e.captured("import", h)
	}
	if id, ok := e.imported(h); ok {
		e.reference("import", id)
		return nil
	}
	return e.export("export", h.dup())
}

func (e *encoder) promise(p *Promise) error {
	h := p.hook()
	if e.m != nil {
		return e.captured("pipeline", h)
	}
	if id, ok := e.imported(h); ok {
		e.reference("pipeline", id)
		return nil
	}
	return e.export("promise", h.get(nil, nil))
}

// captured writes a stub or promise used in the function of a map().
func (e *encoder) captured(kind string, h hook) error {
	id, err := e.m.capture(h)
	if err == nil {
		e.reference(kind, id)
	}
	return err
}

// imported tells whether h stands for something of this very peer, and pins it.
func (e *encoder) imported(h hook) (int64, bool) {
	entry, ok := h.(*importEntry)
	if !ok || e.s == nil || entry.s != e.s || !entry.pin() {
		return 0, false
	}
	e.pins = append(e.pins, entry)
	return entry.id, true
}

func (e *encoder) reference(kind string, id int64) {
	e.buf = append(append(append(e.buf, `["`...), kind...), `",`...)
	e.buf = append(strconv.AppendInt(e.buf, id, 10), ']')
}

// export takes over h.
func (e *encoder) export(kind string, h hook) error {
	if e.s == nil {
		h.dispose()
		return plainError("Cannot serialize RPC stubs in this context.")
	}
	id, err := e.s.export(h)
	if err != nil {
		h.dispose()
		return err
	}
	e.exports = append(e.exports, id)
	if kind == "promise" {
		e.promises = append(e.promises, id)
	}
	e.reference(kind, id)
	return nil
}

func (e *encoder) path(path []any) {
	e.buf = append(e.buf, '[')
	for i, p := range path {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		if n, ok := p.(int); ok {
			e.buf = strconv.AppendInt(e.buf, int64(n), 10)
		} else {
			e.buf = appendString(e.buf, partText(p))
		}
	}
	e.buf = append(e.buf, ']')
}
