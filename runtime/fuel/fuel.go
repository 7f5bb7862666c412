// Package fuel rewrites WebAssembly modules so that no guest can run for long without handing control back.
//
// Compiled guest code cannot be preempted by the Go runtime: one endless loop would hold up every goroutine of the
// process at the next garbage collection. Instrument therefore gives a module a counter, the fuel. Each loop
// iteration (and, if asked for, each function entry) takes one unit, and bulk operations on memories and tables take
// units by their length. When the counter runs out the guest calls the imported tick, a host function that yields,
// looks at the deadline, and returns 0 to go on or anything else to trap; then the counter is refilled.
//
// A Module can only be made by Instrument, so a runtime that compiles nothing but Modules cannot run code without
// fuel. Instrument checks the structure of every section, with each index inside what the module itself declares
// (so that guest code cannot name the counter or the functions that are added); the types inside function bodies are
// left to the compiler. What it does not know it refuses: tail calls, exceptions, threads, several memories.
package fuel

import (
	"errors"
	"fmt"
)

// DefaultRefill is the fuel between two ticks. On two loaded cores, with the JavaScript engine and a deadline of 100 ms,
// every attack of runtime/host then ended within 9 ms after it and calls of another instance waited at most 2 ms in
// 99 of 100 cases; with 200,000 it was 65 ms. 5,000 was no better. The fuel costs 1-5 % at 20,000 and 5-10 % at 1,000;
// only multiplying large BigInts, whose inner loops are a few instructions long, costs a third.
const DefaultRefill = 20_000

// maxModule bounds the size of a module in bytes.
const maxModule = 64 << 20

// maxTable bounds the number of entries of a table, which the guest could otherwise grow without a limit.
const maxTable = 1 << 17

// ErrUnsupported is wrapped by errors about valid modules that use a feature this package does not know.
var ErrUnsupported = errors.New("unsupported feature")

// Options of Instrument.
type Options struct {
	// TickModule and TickName name the imported function of type () -> i32.
	TickModule, TickName string
	// Refill is the fuel between two ticks; zero means DefaultRefill.
	Refill int32
	// Entries takes a unit at each function entry too. Recursion can run for an exponential time without a loop, so
	// it may be left out only for code that is trusted not to do so.
	Entries bool
}

// Module is an instrumented module.
type Module struct {
	sections []section
	usesData bool // memory.init or data.drop occurs
	memories uint32
	imported uint32 // memories among the imports
}

// Instrument returns the module with fuel. It keeps no reference to wasm. Malformed modules give an error.
func Instrument(wasm []byte, o Options) (*Module, error) {
	if o.Refill == 0 {
		o.Refill = DefaultRefill
	}
	if o.Refill < 1 || o.TickName == "" {
		return nil, errors.New("fuel: the options name no tick or no refill")
	}
	sections, err := split(wasm)
	if err != nil {
		return nil, fmt.Errorf("fuel: %w", err)
	}
	p := &pass{Options: o}
	if err := p.survey(sections); err != nil {
		return nil, fmt.Errorf("fuel: %w", err)
	}
	out, err := p.rewrite(sections)
	if err != nil {
		return nil, fmt.Errorf("fuel: %w", err)
	}
	return &Module{out, p.usesData, p.memories, p.importedMemories}, nil
}

// Wasm returns the module's bytes. The caller owns them.
func (m *Module) Wasm() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range m.sections {
		out = append(out, s.id)
		out = appendU32(out, uint32(len(s.body)))
		out = append(out, s.body...)
	}
	return out
}

// StripData returns a copy for start images: without data segments and start function, with a memory of the given number of
// pages (0: as large as it was), whose contents the caller supplies. It fails for a module that refers to its data
// segments at run time or has no memory of its own.
func (m *Module) StripData(pages uint32) (*Module, error) {
	switch {
	case m.usesData:
		return nil, errors.New("fuel: strip: the module uses its data segments at run time")
	case m.memories != 1 || m.imported != 0:
		return nil, errors.New("fuel: strip: the module has no memory of its own")
	case pages > 1<<16:
		return nil, errors.New("fuel: strip: too many pages")
	}
	out := &Module{memories: 1}
	for _, s := range m.sections {
		switch s.id {
		case secData, secDataCount, secStart:
			continue
		case secMemory:
			if pages == 0 {
				break
			}
			r := &reader{b: s.body}
			r.u32()
			l := r.limits()
			if l.min > pages || l.bounded && pages > l.max {
				return nil, fmt.Errorf("fuel: strip: %d pages do not fit the module's memory", pages)
			}
			l.min = pages
			s.body = l.append([]byte{1})
		}
		out.sections = append(out.sections, s)
	}
	return out, nil
}
