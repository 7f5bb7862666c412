package fuel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Section ids of the binary format.
const (
	secCustom = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElement
	secCode
	secData
	secDataCount
)

// order is the place of each section in a module.
var order = [...]int{secType: 1, secImport: 2, secFunction: 3, secTable: 4, secMemory: 5, secGlobal: 6, secExport: 7,
	secStart: 8, secElement: 9, secDataCount: 10, secCode: 11, secData: 12}

type section struct {
	id   byte
	body []byte
}

// split cuts a module into its sections, without the custom ones, and checks their order.
func split(wasm []byte) ([]section, error) {
	if len(wasm) > maxModule {
		return nil, errors.New("the module is too large")
	}
	if !bytes.HasPrefix(wasm, []byte("\x00asm\x01\x00\x00\x00")) {
		return nil, errors.New("not a WebAssembly module of version 1")
	}
	var out []section
	last := 0
	r := &reader{b: wasm, i: 8}
	for r.more() {
		id := r.byte()
		body := r.bytes(r.u32())
		if r.err != nil {
			break
		}
		if id == secCustom {
			c := &reader{b: body}
			if c.name(); c.err != nil {
				return nil, c.err
			}
			continue
		}
		if int(id) >= len(order) {
			return nil, fmt.Errorf("section %d: %w", id, ErrUnsupported)
		}
		if order[id] <= last {
			return nil, fmt.Errorf("section %d is out of order", id)
		}
		last = order[id]
		out = append(out, section{id, body})
	}
	return out, r.err
}

// pass is one run of Instrument: what the module declares, and what is added.
type pass struct {
	Options
	types, funcs, tables, memories, globals, elements, datas uint32 // the whole index spaces, imports included
	importedFuncs, importedTables, importedMemories          uint32
	importedGlobals, bodies                                  uint32
	hasData, usesData                                        bool
}

// survey counts everything, so that the rewriting can check each index.
func (p *pass) survey(sections []section) error {
	var defined, datas uint32
	counted := false
	for _, s := range sections {
		r := &reader{b: s.body}
		switch s.id {
		case secType:
			p.types = r.count()
		case secImport:
			p.surveyImports(r)
		case secFunction:
			defined = r.count()
			p.funcs += defined
		case secTable:
			p.tables += r.count()
		case secMemory:
			p.memories += r.count()
		case secGlobal:
			p.globals += r.count()
		case secElement:
			p.elements = r.count()
		case secDataCount:
			p.datas, counted = r.u32(), true
		case secCode:
			p.bodies = r.count()
		case secData:
			datas = r.count()
		}
		if r.err != nil {
			return fmt.Errorf("section %d %w", s.id, r.err)
		}
	}
	switch {
	case p.memories > 1:
		return fmt.Errorf("several memories: %w", ErrUnsupported)
	case defined != p.bodies:
		return fmt.Errorf("%d functions have %d bodies", defined, p.bodies)
	case counted && datas != p.datas:
		return fmt.Errorf("%d data segments are counted as %d", datas, p.datas)
	}
	p.hasData = counted
	return nil
}

func (p *pass) surveyImports(r *reader) {
	for n := r.count(); n > 0 && r.err == nil; n-- {
		r.name()
		r.name()
		switch kind := r.byte(); kind {
		case 0:
			r.u32()
			p.importedFuncs++
		case 1:
			r.refType()
			r.limits()
			p.importedTables++
		case 2:
			r.limits()
			p.importedMemories++
		case 3:
			r.valType()
			r.byte()
			p.importedGlobals++
		default:
			r.fail("import of kind %d: %w", kind, ErrUnsupported)
		}
	}
	p.funcs, p.tables = p.importedFuncs, p.importedTables
	p.memories, p.globals = p.importedMemories, p.importedGlobals
}

// limits are those of a table or a memory.
type limits struct {
	min, max uint32
	bounded  bool
}

func (r *reader) limits() (l limits) {
	switch flag := r.byte(); {
	case r.err != nil:
	case flag > 1:
		r.fail("limits of kind %d: %w", flag, ErrUnsupported)
	default:
		l.min, l.bounded = r.u32(), flag == 1
		if l.bounded {
			l.max = r.u32()
		}
		if l.bounded && l.max < l.min {
			r.fail("a maximum is below its minimum")
		}
	}
	return l
}

func (l limits) append(out []byte) []byte {
	if !l.bounded {
		return appendU32(append(out, 0), l.min)
	}
	return appendU32(appendU32(append(out, 1), l.min), l.max)
}

func (r *reader) valType() byte {
	t := r.byte()
	if r.err == nil && (t < 0x7b || t > 0x7f) && t != 0x70 && t != 0x6f {
		r.fail("type %#x: %w", t, ErrUnsupported)
	}
	return t
}

func (r *reader) refType() byte {
	t := r.byte()
	if r.err == nil && t != 0x70 && t != 0x6f {
		r.fail("reference type %#x: %w", t, ErrUnsupported)
	}
	return t
}

func appendU32(out []byte, v uint32) []byte { return binary.AppendUvarint(out, uint64(v)) }

// appendI32 appends a signed LEB128 number.
func appendI32(out []byte, v int32) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(out, c)
		}
		out = append(out, c|0x80)
	}
}
