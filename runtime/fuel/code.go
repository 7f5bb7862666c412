package fuel

// Opcodes that the pass looks at; the rest are only stepped over.
const (
	opLoop     = 0x03
	opEnd      = 0x0b
	opCall     = 0x10
	opRefFunc  = 0xd2
	opPrefixFC = 0xfc
)

// check returns the code that takes one unit and calls slow below zero. It leaves the stack as it is.
func (p *pass) check() []byte {
	return p.take([]byte{0x41, 1})
}

// take returns code that subtracts what amount leaves on the stack.
func (p *pass) take(amount []byte) []byte {
	out := appendU32([]byte{0x23}, p.fuel())
	out = append(append(out, amount...), 0x6b)
	out = appendU32(append(out, 0x24), p.fuel())
	out = appendU32(append(out, 0x23), p.fuel())
	out = append(out, 0x41, 0, 0x48, 0x04, 0x40, opCall)
	return append(appendU32(out, p.slow()), opEnd)
}

// chargeBody returns the body of a function i32 -> i32 that takes its argument, shifted right, and returns it.
func (p *pass) chargeBody(shift byte) []byte {
	out := append([]byte{0}, p.take([]byte{0x20, 0, 0x41, shift, 0x76})...)
	return append(out, 0x20, 0, opEnd)
}

// slowBody returns the body of the function that refills and traps if the tick says so.
func (p *pass) slowBody() []byte {
	out := appendI32([]byte{0, 0x41}, p.Refill)
	out = appendU32(append(out, 0x24), p.fuel())
	out = appendU32(append(out, opCall), p.tick())
	return append(out, 0x04, 0x40, 0x00, opEnd, opEnd)
}

func (p *pass) codeSection(r *reader) []byte {
	n := r.count()
	out := appendU32(nil, n+3)
	check := p.check()
	for ; n > 0 && r.err == nil; n-- {
		size := r.u32()
		from := r.i
		body := &reader{b: r.b, i: r.i}
		if r.bytes(size); r.err != nil {
			break
		}
		body.b = r.b[:from+int(size)]
		b := p.body(body, check)
		body.end()
		if body.err != nil {
			r.err = body.err
			break
		}
		out = append(appendU32(out, uint32(len(b))), b...)
	}
	for _, b := range [][]byte{p.slowBody(), p.chargeBody(8), p.chargeBody(4)} {
		out = append(appendU32(out, uint32(len(b))), b...)
	}
	return out
}

// body rewrites one function body.
func (p *pass) body(r *reader, check []byte) []byte {
	from := r.i
	for n := r.count(); n > 0 && r.err == nil; n-- {
		r.u32()
		r.valType()
	}
	if r.err != nil {
		return nil
	}
	out := append(make([]byte, 0, len(r.b)-from+64), r.b[from:r.i]...)
	if p.Entries {
		out = append(out, check...)
	}
	for r.more() {
		at := r.i
		op := r.byte()
		switch op {
		case opLoop:
			p.blockType(r)
			out = append(append(out, r.b[at:r.i]...), check...)
			continue
		case opCall, opRefFunc:
			out = appendU32(append(out, op), p.moved(r.index(p.funcs, "function")))
			continue
		case opPrefixFC:
			if charge := p.bulk(r); charge != 0 {
				out = appendU32(append(out, opCall), charge)
			}
		default:
			p.step(r, op)
		}
		out = append(out, r.b[at:r.i]...)
	}
	if r.err == nil && r.b[r.i-1] != opEnd {
		r.fail("a function does not end")
	}
	return out
}

// constant copies a constant expression, moving function indices.
func (p *pass) constant(r *reader, out []byte) []byte {
	for r.err == nil {
		at := r.i
		switch op := r.byte(); op {
		case opRefFunc:
			out = appendU32(append(out, op), p.moved(r.index(p.funcs, "function")))
			continue
		case 0x23, 0x41, 0x42, 0x43, 0x44, 0xd0:
			p.step(r, op)
		case opEnd:
			return append(out, op)
		case 0xfd:
			if sub := r.u32(); sub != 12 {
				r.fail("instruction fd %d in a constant", sub)
			}
			r.bytes(16)
		default:
			r.fail("instruction %#x in a constant: %w", op, ErrUnsupported)
		}
		out = append(out, r.b[at:r.i]...)
	}
	return out
}

func (p *pass) blockType(r *reader) {
	t := r.signed(33)
	if r.err != nil {
		return
	}
	if t >= 0 {
		if t >= int64(p.types) {
			r.fail("type %d of %d", t, p.types)
		}
		return
	}
	switch t {
	case -0x40, -1, -2, -3, -4, -5, -0x10, -0x11: // empty, i32, i64, f32, f64, v128, funcref, externref
	default:
		r.fail("block type %d: %w", t, ErrUnsupported)
	}
}

func (p *pass) memarg(r *reader) {
	if align := r.u32(); r.err == nil && align >= 32 {
		r.fail("alignment %d: %w", align, ErrUnsupported)
	}
	r.u32()
	if p.memories == 0 {
		r.fail("there is no memory")
	}
}

// bulk steps over an instruction with the prefix fc, and returns the function that must be called before it with its
// length, which is on top of the stack; 0 if none.
func (p *pass) bulk(r *reader) (charge uint32) {
	switch sub := r.u32(); sub {
	case 0, 1, 2, 3, 4, 5, 6, 7:
	case 8: // memory.init
		r.index(p.datas, "data segment")
		r.index(p.memories, "memory")
		p.usesData = true
		return p.chargeBytes()
	case 9: // data.drop
		r.index(p.datas, "data segment")
		p.usesData = true
	case 10: // memory.copy
		r.index(p.memories, "memory")
		r.index(p.memories, "memory")
		return p.chargeBytes()
	case 11: // memory.fill
		r.index(p.memories, "memory")
		return p.chargeBytes()
	case 12: // table.init
		r.index(p.elements, "element segment")
		r.index(p.tables, "table")
		return p.chargeTable()
	case 13: // elem.drop
		r.index(p.elements, "element segment")
	case 14: // table.copy
		r.index(p.tables, "table")
		r.index(p.tables, "table")
		return p.chargeTable()
	case 17: // table.fill
		r.index(p.tables, "table")
		return p.chargeTable()
	case 15: // table.grow
		r.index(p.tables, "table")
		return p.chargeTable()
	case 16: // table.size
		r.index(p.tables, "table")
	default:
		r.fail("instruction fc %d: %w", sub, ErrUnsupported)
	}
	return 0
}

// step moves over the operands of an instruction.
func (p *pass) step(r *reader, op byte) {
	switch {
	case op == 0x02 || op == 0x04: // block, if
		p.blockType(r)
	case op == 0x0c || op == 0x0d || op == 0x20 || op == 0x21 || op == 0x22: // br, br_if, locals
		r.u32()
	case op == 0x0e: // br_table
		for n := r.count(); n > 0 && r.err == nil; n-- {
			r.u32()
		}
		r.u32()
	case op == 0x11: // call_indirect
		r.index(p.types, "type")
		r.index(p.tables, "table")
	case op == 0x1c: // select with types
		for n := r.count(); n > 0 && r.err == nil; n-- {
			r.valType()
		}
	case op == 0x23 || op == 0x24: // globals
		r.index(p.globals, "global")
	case op == 0x25 || op == 0x26: // table.get, table.set
		r.index(p.tables, "table")
	case op >= 0x28 && op <= 0x3e: // loads and stores
		p.memarg(r)
	case op == 0x3f || op == 0x40: // memory.size, memory.grow
		r.index(p.memories, "memory")
	case op == 0x41:
		r.signed(32)
	case op == 0x42:
		r.signed(64)
	case op == 0x43:
		r.bytes(4)
	case op == 0x44:
		r.bytes(8)
	case op == 0xd0: // ref.null
		r.refType()
	case op == 0xfd:
		p.vector(r)
	case op <= 0x01, op == 0x05, op == opEnd, op == 0x0f, op == 0x1a, op == 0x1b, op >= 0x45 && op <= 0xc4, op == 0xd1:
	default:
		r.fail("instruction %#x: %w", op, ErrUnsupported)
	}
}

// vector steps over the operands of a SIMD instruction. Relaxed SIMD (256 and above) is refused.
func (p *pass) vector(r *reader) {
	switch sub := r.u32(); {
	case sub <= 11 || sub == 92 || sub == 93:
		p.memarg(r)
	case sub == 12 || sub == 13:
		r.bytes(16)
	case sub >= 21 && sub <= 34:
		r.byte()
	case sub >= 84 && sub <= 91:
		p.memarg(r)
		r.byte()
	case sub > 255:
		r.fail("instruction fd %d: %w", sub, ErrUnsupported)
	}
}
