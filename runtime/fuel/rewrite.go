package fuel

import "fmt"

// The rewritten module has three types more (() -> (), () -> i32, i32 -> i32), one imported function more (the tick,
// behind the other imported functions, so that every defined function moves up by one), one global more (the fuel,
// the last one), and up to three functions more at the end: slow, which calls the tick and refills, and a charge for
// bulk operations on memories and one for tables.

func (p *pass) tick() uint32        { return p.importedFuncs }
func (p *pass) slow() uint32        { return p.funcs + 1 }
func (p *pass) chargeBytes() uint32 { return p.funcs + 2 }
func (p *pass) chargeTable() uint32 { return p.funcs + 3 }
func (p *pass) fuel() uint32        { return p.globals }

// moved gives a function's index after the tick was put in.
func (p *pass) moved(f uint32) uint32 {
	if f >= p.importedFuncs {
		return f + 1
	}
	return f
}

// rewrite makes the new sections, in order, with those that the module lacks.
func (p *pass) rewrite(sections []section) ([]section, error) {
	have := map[byte][]byte{}
	for _, s := range sections {
		have[s.id] = s.body
	}
	var out []section
	for _, id := range []byte{secType, secImport, secFunction, secTable, secMemory, secGlobal, secExport, secStart,
		secElement, secDataCount, secCode, secData} {
		body, ok := have[id]
		if !ok {
			switch id {
			case secType, secImport, secFunction, secGlobal, secCode:
				body = []byte{0}
			default:
				continue
			}
		}
		r := &reader{b: body}
		to := p.section(id, r)
		r.end()
		if r.err != nil {
			return nil, fmt.Errorf("section %d %w", id, r.err)
		}
		out = append(out, section{id, to})
	}
	return out, nil
}

func (p *pass) section(id byte, r *reader) []byte {
	switch id {
	case secType:
		return p.typeSection(r)
	case secImport:
		return p.importSection(r)
	case secFunction:
		return p.functionSection(r)
	case secTable:
		return p.tableSection(r)
	case secMemory:
		return p.memorySection(r)
	case secGlobal:
		return p.globalSection(r)
	case secExport:
		return p.exportSection(r)
	case secStart:
		return appendU32(nil, p.moved(r.index(p.funcs, "function")))
	case secElement:
		return p.elementSection(r)
	case secDataCount:
		return appendU32(nil, r.u32())
	case secCode:
		return p.codeSection(r)
	default:
		return p.dataSection(r)
	}
}

func (p *pass) typeSection(r *reader) []byte {
	n := r.count()
	start := r.i
	for i := n; i > 0 && r.err == nil; i-- {
		if form := r.byte(); r.err == nil && form != 0x60 {
			r.fail("type form %#x: %w", form, ErrUnsupported)
		}
		for range 2 {
			for k := r.count(); k > 0 && r.err == nil; k-- {
				r.valType()
			}
		}
	}
	out := append(appendU32(nil, n+3), r.b[start:r.i]...)
	return append(out, 0x60, 0, 0, 0x60, 0, 1, 0x7f, 0x60, 1, 0x7f, 1, 0x7f)
}

func (p *pass) importSection(r *reader) []byte {
	n := r.count()
	out := appendU32(nil, n+1)
	for i := n; i > 0 && r.err == nil; i-- {
		from := r.i
		r.name()
		r.name()
		kind := r.byte()
		out = append(out, r.b[from:r.i]...)
		from = r.i
		switch kind {
		case 0:
			r.index(p.types, "type")
		case 1:
			out = append(out, r.refType())
			out = r.tableLimits().append(out)
			continue
		case 2:
			r.limits()
		case 3:
			r.valType()
			if m := r.byte(); r.err == nil && m > 1 {
				r.fail("mutability %d", m)
			}
		}
		out = append(out, r.b[from:r.i]...)
	}
	out = append(appendU32(out, uint32(len(p.TickModule))), p.TickModule...)
	out = append(appendU32(out, uint32(len(p.TickName))), p.TickName...)
	return appendU32(append(out, 0), p.types+1)
}

func (p *pass) functionSection(r *reader) []byte {
	n := r.count()
	out := appendU32(nil, n+3)
	for i := n; i > 0 && r.err == nil; i-- {
		out = appendU32(out, r.index(p.types, "type"))
	}
	out = appendU32(out, p.types)
	return appendU32(appendU32(out, p.types+2), p.types+2)
}

// tableLimits reads a table's limits and keeps its maximum within maxTable.
func (r *reader) tableLimits() limits {
	l := r.limits()
	if r.err == nil && l.min > maxTable {
		r.fail("a table of %d entries: %w", l.min, ErrUnsupported)
	}
	if !l.bounded || l.max > maxTable {
		l.bounded, l.max = true, maxTable
	}
	return l
}

func (p *pass) tableSection(r *reader) []byte {
	n := r.count()
	out := appendU32(nil, n)
	for ; n > 0 && r.err == nil; n-- {
		out = append(out, r.refType())
		out = r.tableLimits().append(out)
	}
	return out
}

func (p *pass) memorySection(r *reader) []byte {
	n := r.count()
	out := appendU32(nil, n)
	for ; n > 0 && r.err == nil; n-- {
		l := r.limits()
		if r.err == nil && (l.min > 1<<16 || l.bounded && l.max > 1<<16) {
			r.fail("a memory has too many pages")
		}
		out = l.append(out)
	}
	return out
}

func (p *pass) globalSection(r *reader) []byte {
	n := r.count()
	out := appendU32(nil, n+1)
	for i := n; i > 0 && r.err == nil; i-- {
		out = append(out, r.valType())
		m := r.byte()
		if r.err == nil && m > 1 {
			r.fail("mutability %d", m)
		}
		out = p.constant(r, append(out, m))
	}
	out = append(out, 0x7f, 1, 0x41)
	return append(appendI32(out, p.Refill), 0x0b)
}

func (p *pass) exportSection(r *reader) []byte {
	n := r.count()
	out := appendU32(nil, n)
	for ; n > 0 && r.err == nil; n-- {
		from := r.i
		r.name()
		kind := r.byte()
		out = append(out, r.b[from:r.i]...)
		switch kind {
		case 0:
			out = appendU32(out, p.moved(r.index(p.funcs, "function")))
		case 1:
			out = appendU32(out, r.index(p.tables, "table"))
		case 2:
			out = appendU32(out, r.index(p.memories, "memory"))
		case 3:
			out = appendU32(out, r.index(p.globals, "global"))
		default:
			r.fail("export of kind %d: %w", kind, ErrUnsupported)
		}
	}
	return out
}

// elementSection follows the flags of the binary format: bit 0 passive or declarative, bit 1 an explicit table (or
// declarative), bit 2 expressions instead of indices.
func (p *pass) elementSection(r *reader) []byte {
	n := r.count()
	out := appendU32(nil, n)
	for ; n > 0 && r.err == nil; n-- {
		flags := r.u32()
		if flags > 7 {
			r.fail("element segment of kind %d", flags)
			break
		}
		out = appendU32(out, flags)
		if flags&1 == 0 {
			table := uint32(0)
			if flags&2 != 0 {
				table = r.index(p.tables, "table")
				out = appendU32(out, table)
			} else if p.tables == 0 {
				r.fail("element segment without a table")
			}
			out = p.constant(r, out)
		}
		if flags&3 != 0 {
			if flags&4 != 0 {
				out = append(out, r.refType())
			} else if kind := r.byte(); kind != 0 {
				r.fail("element kind %d: %w", kind, ErrUnsupported)
			} else {
				out = append(out, kind)
			}
		}
		k := r.count()
		out = appendU32(out, k)
		for ; k > 0 && r.err == nil; k-- {
			if flags&4 != 0 {
				out = p.constant(r, out)
			} else {
				out = appendU32(out, p.moved(r.index(p.funcs, "function")))
			}
		}
	}
	return out
}

func (p *pass) dataSection(r *reader) []byte {
	n := r.count()
	out := appendU32(nil, n)
	for ; n > 0 && r.err == nil; n-- {
		flags := r.u32()
		if flags > 2 {
			r.fail("data segment of kind %d", flags)
			break
		}
		out = appendU32(out, flags)
		if flags == 2 {
			out = appendU32(out, r.index(p.memories, "memory"))
		}
		if flags != 1 {
			if p.memories == 0 {
				r.fail("data segment without a memory")
			}
			out = p.constant(r, out)
		}
		b := r.bytes(r.u32())
		out = append(appendU32(out, uint32(len(b))), b...)
	}
	return out
}
