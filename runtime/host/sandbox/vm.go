package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/tetratelabs/wazero/api"

	"toolshed/runtime/host/sandbox/clock"
	"toolshed/runtime/host/sandbox/image"
	"toolshed/runtime/host/sandbox/linear"
	"toolshed/runtime/host/wire"
)

const (
	pageSize    = 64 << 10
	stackSize   = 512 << 10 // of the engine's own 1 MiB: JavaScript deeper than this gets a RangeError
	scratchSize = 64

	evalScript = 0
	evalModule = 1
)

// The engine's exports that are used, by name in fnNames.
const (
	fnInitialize = iota
	fnInit
	fnContext
	fnMalloc
	fnFreeMemory
	fnMemoryLimit
	fnStackLimit
	fnInterruptHandler
	fnModuleLoader
	fnRejectionHandler
	fnEval
	fnCall
	fnNewString
	fnNewNumber
	fnNewObject
	fnNewHostFunction
	fnNewBytes
	fnNewError
	fnThrow
	fnUndefined
	fnTrue
	fnFalse
	fnGlobal
	fnSetProp
	fnGetProp
	fnDefineProp
	fnFreeValue
	fnDupValue
	fnIsException
	fnIsUncatchable
	fnIsString
	fnIsNumber
	fnIsFunction
	fnIsUndefined
	fnGetString
	fnGetStringLen
	fnFreeString
	fnGetNumber
	fnException
	fnJobPending
	fnRunJob
	fnPromiseState
	fnPromiseResult
	fnRunGC
	fnSetThreshold
	fnAllocated
	fnViewBuffer
	fnBufferData
	fnCount
)

var fnNames = [fnCount]string{"_initialize", "qjs_init", "qjs_get_context_ptr", "wasm_malloc", "wasm_free", "qjs_set_memory_limit",
	"qjs_set_max_stack_size", "qjs_set_interrupt_handler", "qjs_set_module_loader",
	"qjs_set_promise_rejection_handler", "qjs_eval", "qjs_call", "qjs_new_string", "qjs_new_number", "qjs_new_object",
	"qjs_new_host_function", "qjs_new_uint8_array", "qjs_new_error", "qjs_throw", "qjs_get_undefined", "qjs_get_true",
	"qjs_get_false", "qjs_get_global", "qjs_set_prop_string", "qjs_get_prop_string", "qjs_define_prop_string",
	"qjs_free_value", "qjs_dup_value", "qjs_is_exception", "qjs_is_uncatchable_error", "qjs_is_string",
	"qjs_is_number", "qjs_is_function", "qjs_is_undefined", "qjs_get_string", "qjs_get_string_len",
	"qjs_free_cstring", "qjs_get_float64", "qjs_get_exception", "qjs_is_job_pending", "qjs_execute_pending_job",
	"qjs_promise_state", "qjs_promise_result", "qjs_run_gc", "qjs_set_gc_threshold",
	"qjs_get_allocated_size", "qjs_get_typed_array_buffer", "qjs_get_array_buffer"}

// The functions of the prelude's guest object. The first guestNeeded must be there.
const (
	guestBoot = iota
	guestStart
	guestDeliver
	guestWake
	guestInterrupted // optional: (text) the turn was interrupted; what it was working on is rejected with the text
	guestCount
	guestNeeded = guestInterrupted
)

var guestNames = [guestCount]string{"boot", "start", "deliver", "wake", "interrupted"}

// pointers are the addresses that a VM needs to know; an image carries them with its memory.
type pointers struct {
	context, scratch, stack uint32
	guest                   [guestCount]uint32
}

type vmKey struct{}

// vm is one JavaScript engine with its own memory. One goroutine uses it. All values are handles: addresses of
// JavaScript values in the engine's memory, to be given back with free. Nothing read from that memory is believed:
// every access is checked against its bounds.
type vm struct {
	host  hostSide
	limit int64
	mod   api.Module
	mem   api.Memory
	ctx   context.Context
	ptrs  pointers
	seed  uint64

	fns  [fnCount]engineFn
	turn clock.Clock

	lasts func() // to be called when a turn lasts; nil: it may

	halt         atomic.Pointer[wire.Failure] // why the next tick must trap
	refused      bool                         // the memory could not grow
	touched      bool                         // the guest asked for something that differs from start to start
	code         *image.Image                 // laid over the memory; may be nil
	base         []byte                       // what the memory was mapped from; nil if it was not
	memory       *linear.Memory
	files        map[string][]byte // what modules are loaded from
	importFailed bool              // an import could not be resolved
	workers      string
}

// engineFn is an exported function. It keeps a native stack of its own, so it must not be entered twice at a time.
type engineFn struct {
	f     api.Function
	stack [5]uint64
	busy  bool
}

func (v *vm) attach(mod api.Module) { v.mod, v.mem = mod, mod.Memory() }

// close frees the engine's memory, and then gives up the image that was laid over it. The vm must not be running.
func (v *vm) close() {
	_ = v.mod.Close(context.Background())
	if v.code != nil {
		v.code.Release()
		v.code = nil
	}
}

// rest drops the native stacks of functions that are not running, and the private copies of pages that are as the image
// again: most of what a turn touches it leaves as it was. An idle instance does without both.
func (v *vm) rest() {
	for k := range v.fns {
		v.fns[k].f = nil
	}
	if b, ok := v.mem.Read(0, v.mem.Size()); ok && v.base != nil {
		v.memory.Forget(image.Unchanged(v.base, v.code, b))
	}
}

// call enters an export. An error means that the guest trapped or was stopped: the vm must be discarded.
func (v *vm) call(fn int, args ...uint64) (uint64, error) {
	f := &v.fns[fn]
	if f.busy {
		f = &engineFn{} // entered again from inside a host function: another native stack
	}
	if f.f == nil {
		if f.f = v.mod.ExportedFunction(fnNames[fn]); f.f == nil {
			return 0, fmt.Errorf("the JavaScript engine has no %s", fnNames[fn])
		}
	}
	f.busy = true
	copy(f.stack[:], args)
	err := f.f.CallWithStack(v.ctx, f.stack[:])
	f.busy = false
	return f.stack[0], err
}

func (v *vm) call32(fn int, args ...uint64) (uint32, error) {
	x, err := v.call(fn, args...)
	return uint32(x), err
}

func (v *vm) stackPointer() uint32 {
	g := v.mod.ExportedGlobal("__stack_pointer")
	if g == nil {
		return 0
	}
	return uint32(g.Get())
}

// why tells the Failure behind an error of call.
func (v *vm) why() *wire.Failure { return v.halt.Load() }

// failure makes a Failure of an error of call.
func (v *vm) failure(err error) *wire.Failure {
	var f *wire.Failure
	switch {
	case errors.As(err, &f):
		return f
	case v.why() != nil:
		return v.why()
	case v.refused:
		return memoryFailure(v.limit)
	case strings.Contains(err.Error(), "stack overflow"):
		return wire.Fail(wire.KindStack, "it went too deep")
	default:
		first, _, _ := strings.Cut(err.Error(), "\n")
		return wire.Fail(wire.KindTrap, "the sandbox stopped it: "+first)
	}
}

func memoryFailure(limit int64) *wire.Failure {
	return wire.Fail(wire.KindMemory, fmt.Sprintf("it needs more than its %d MiB of memory", limit>>20))
}

// heapLimit is the engine's own limit, which gives an orderly error before the memory itself ends.
func (v *vm) heapLimit() uint32 { return uint32(v.limit - 2<<20) }

func (v *vm) setLimits(noInterrupt bool) error {
	on := uint64(1)
	if noInterrupt {
		on = 0
	}
	for _, l := range []struct {
		fn  int
		arg uint64
	}{{fnMemoryLimit, uint64(v.heapLimit())}, {fnStackLimit, stackSize}, {fnInterruptHandler, on},
		{fnModuleLoader, 1}, {fnRejectionHandler, 0}} {
		if _, err := v.call(l.fn, l.arg); err != nil {
			return err
		}
	}
	return nil
}

// stop panics with a Failure out of a host function: the guest's call returns with it.
func (v *vm) stop(f *wire.Failure) {
	v.halt.CompareAndSwap(nil, f)
	panic(f)
}

// write puts bytes with a final zero into the engine's memory. The address is to be given back with freeMemory.
func (v *vm) write(s string) (uint32, error) {
	p, err := v.call32(fnMalloc, uint64(len(s)+1))
	if err != nil {
		return 0, err
	}
	if p == 0 {
		return 0, memoryFailure(v.limit)
	}
	b, ok := v.mem.Read(p, uint32(len(s)+1))
	if !ok {
		return 0, errMemory
	}
	copy(b, s)
	b[len(s)] = 0
	return p, nil
}

var errMemory = errors.New("the engine gave a bad address")

func (v *vm) freeMemory(p uint32) error {
	_, err := v.call(fnFreeMemory, uint64(p))
	return err
}

func (v *vm) free(value uint32) { _, _ = v.call(fnFreeValue, uint64(value)) }

// newString makes a JavaScript string.
func (v *vm) newString(s string) (uint32, error) {
	p, err := v.write(s)
	if err != nil {
		return 0, err
	}
	x, err := v.call32(fnNewString, uint64(p), uint64(len(s)))
	if err != nil {
		return 0, err
	}
	return x, v.freeMemory(p)
}

// named calls an export with a handle and a name.
func (v *vm) named(fn int, value uint32, name string, more ...uint64) (uint32, error) {
	p, err := v.write(name)
	if err != nil {
		return 0, err
	}
	x, err := v.call32(fn, append([]uint64{uint64(value), uint64(p)}, more...)...)
	if err != nil {
		return 0, err
	}
	return x, v.freeMemory(p)
}

func (v *vm) getProp(value uint32, name string) (uint32, error) {
	return v.named(fnGetProp, value, name)
}

// text returns a value as a string. A value that is not one is converted, which runs the guest's code; ok is false
// if that throws.
func (v *vm) text(value uint32) (s string, ok bool, err error) {
	at := v.ptrs.scratch
	p, err := v.call32(fnGetStringLen, uint64(value), uint64(at))
	if err != nil || p == 0 {
		return "", false, err
	}
	n, ok := v.mem.ReadUint32Le(at)
	if !ok {
		return "", false, errMemory
	}
	b, ok := v.mem.Read(p, n)
	if !ok {
		return "", false, errMemory
	}
	s = string(b)
	_, err = v.call(fnFreeString, uint64(p))
	return s, true, err
}

// cString reads a text that ends with a zero.
func (v *vm) cString(p uint32) (string, error) {
	for n := uint32(64); ; n *= 2 {
		if left := v.mem.Size() - min(p, v.mem.Size()); n > left {
			n = left
		}
		b, ok := v.mem.Read(p, n)
		if !ok || n == 0 {
			return "", errMemory
		}
		if k := strings.IndexByte(string(b), 0); k >= 0 {
			return string(b[:k]), nil
		}
		if n == v.mem.Size()-p || n > 1<<20 {
			return "", errMemory
		}
	}
}

// thrown is a JavaScript exception.
type thrown struct {
	text, stack string
	uncatchable bool
}

func (t *thrown) Error() string { return t.text }

// check returns the exception if the value is one; otherwise the value.
func (v *vm) check(value uint32) (uint32, error) {
	is, err := v.call(fnIsException, uint64(value))
	if err != nil {
		return 0, err
	}
	if is == 0 {
		return value, nil
	}
	v.free(value)
	return 0, v.exception()
}

// exception takes the pending exception and describes it.
func (v *vm) exception() error {
	x, err := v.call32(fnException)
	if err != nil {
		return err
	}
	defer v.free(x)
	return v.describe(x)
}

// describe makes a *thrown of a value that was thrown, or a *wire.Failure if the memory ran out. Any other error means that
// the vm must be discarded. It may run the guest's code.
func (v *vm) describe(x uint32) error {
	un, err := v.call(fnIsUncatchable, uint64(x))
	if err != nil {
		return err
	}
	t := &thrown{text: "an error that cannot be shown", uncatchable: uint32(un) != 0}
	s, ok, err := v.text(x)
	if err != nil {
		return err
	}
	if ok {
		t.text = wire.Clip(s, wire.MaxLine)
	} else if err := v.dropException(); err != nil {
		return err
	}
	if t.uncatchable && !v.turn.Interrupted || strings.HasSuffix(t.text, "out of memory") && v.refused {
		return memoryFailure(v.limit) // the only other uncatchable error; its text may not have found room
	}
	if t.uncatchable {
		return t
	}
	st, err := v.getProp(x, "stack")
	if err != nil {
		return err
	}
	defer v.free(st)
	is, err := v.call(fnIsString, uint64(st))
	if err != nil {
		return err
	}
	if uint32(is) == 0 {
		if err := v.dropException(); err != nil {
			return err
		}
		return t
	}
	if s, ok, err = v.text(st); err != nil {
		return err
	}
	t.stack = wire.Clip(s, wire.MaxLine)
	return t
}

func (v *vm) dropException() error {
	x, err := v.call32(fnException)
	if err == nil {
		v.free(x)
	}
	return err
}

// eval evaluates source text and returns its completion value, or for a module the promise of its namespace.
func (v *vm) eval(source, name string, flags uint64) (uint32, error) {
	code, err := v.write(source)
	if err != nil {
		return 0, err
	}
	file, err := v.write(name)
	if err != nil {
		return 0, err
	}
	x, err := v.call32(fnEval, uint64(code), uint64(len(source)), uint64(file), flags)
	if err != nil {
		return 0, err
	}
	if err := errors.Join(v.freeMemory(code), v.freeMemory(file)); err != nil {
		return 0, err
	}
	return v.check(x)
}

// enter calls a function of the guest object with one value, which it frees (0: none), and returns the result.
func (v *vm) enter(fn int, arg uint32) (uint32, error) {
	this, err := v.call32(fnUndefined)
	if err != nil {
		return 0, err
	}
	argc, argv := uint64(0), uint64(0)
	if arg != 0 {
		argc, argv = 1, uint64(v.ptrs.scratch+8)
		if !v.mem.WriteUint32Le(uint32(argv), arg) {
			return 0, errMemory
		}
	}
	x, err := v.call32(fnCall, uint64(v.ptrs.guest[fn]), uint64(this), argc, argv)
	if err != nil {
		return 0, err
	}
	if arg != 0 {
		v.free(arg)
	}
	v.free(this)
	return v.check(x)
}

// drain runs pending jobs until none is left. A job that was interrupted ends by itself; the others go on.
func (v *vm) drain() error {
	for {
		more, err := v.call(fnJobPending)
		if err != nil || uint32(more) == 0 {
			return err
		}
		rc, err := v.call(fnRunJob)
		if err != nil {
			return err
		}
		if int32(rc) < 0 {
			var t *thrown
			if err := v.exception(); !errors.As(err, &t) {
				return err
			}
			v.host.unwound()
		}
	}
}
