package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"toolshed/runtime/fuel"
	"toolshed/runtime/guest"
	"toolshed/runtime/host/sandbox/image"
	"toolshed/runtime/host/sandbox/linear"
)

// defaultRefill is the fuel between two ticks of the engine.
const defaultRefill = fuel.DefaultRefill

// engineOptions are what the kernel says about engines in its hello.
type engineOptions struct {
	cacheDir    string
	noImage     bool
	copyImage   bool
	noInterrupt bool
	noCodes     bool // no start images of code: every start evaluates it
	refill      int32
	prelude     string // tests only; empty: guest.Prelude
}

// engine is the compiled JavaScript engine and what instances are started from. It is made before the child drops
// its privileges and never changes afterwards.
type engine struct {
	engineOptions
	runtime  wazero.Runtime
	fresh    wazero.CompiledModule
	stripped wazero.CompiledModule // nil without an image
	image    *linear.Image         // nil without an image
	rest     pointers              // into the image
	codes    *image.Store          // start images of gadgets' code; nil without an image
	workers  string
	random   uint32 // offset of the random state from the context's address; 0 if unknown
}

// compile is the only place that compiles WebAssembly. Its parameter's type is the proof that it has fuel.
func compile(ctx context.Context, r wazero.Runtime, m *fuel.Module) (wazero.CompiledModule, error) {
	return r.CompileModule(ctx, m.Wasm())
}

// newEngine compiles the engine and makes the prelude's image.
func newEngine(ctx context.Context, o engineOptions) (*engine, error) {
	wasm, err := guest.Engine()
	if err != nil {
		return nil, err
	}
	if o.refill == 0 {
		o.refill = defaultRefill
	}
	module, err := fuel.Instrument(wasm, fuel.Options{TickModule: "fuel", TickName: "tick", Refill: o.refill})
	if err != nil {
		return nil, err
	}
	config := wazero.NewRuntimeConfig().WithDebugInfoEnabled(false)
	if o.cacheDir != "" {
		if cache, err := wazero.NewCompilationCacheWithDir(o.cacheDir); err == nil {
			config = config.WithCompilationCache(cache)
		}
	}
	if o.prelude == "" {
		o.prelude = guest.Prelude()
	}
	e := &engine{engineOptions: o, runtime: wazero.NewRuntimeWithConfig(ctx, config), workers: guest.Workers()}
	if err := hostModules(ctx, e.runtime); err != nil {
		return nil, err
	}
	if o.noImage {
		e.fresh, err = compile(ctx, e.runtime, module)
		return e, err
	}
	if err := e.makeImage(ctx, module); err != nil {
		return nil, fmt.Errorf("start image: %w", err)
	}
	return e, nil
}

// initVM makes a VM without an image: engine, limits, __host, prelude.
func (e *engine) initVM(h hostSide, limit int64) (*vm, error) {
	v := &vm{host: h, limit: limit}
	v.ctx = context.WithValue(context.Background(), vmKey{}, v)
	ctx := experimental.WithMemoryAllocator(v.ctx, v.memoryFrom(nil))
	mod, err := e.runtime.InstantiateModule(ctx, e.fresh,
		wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, err
	}
	v.attach(mod)
	if err := e.initJS(v); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

func (e *engine) initJS(v *vm) error {
	var seed [8]byte
	_, _ = rand.Read(seed[:])
	v.seed = binary.LittleEndian.Uint64(seed[:])%(1<<40) + 1<<40
	if _, err := v.call(fnInitialize); err != nil {
		return err
	}
	rc, err := v.call(fnInit)
	v.seed = 0
	if err != nil || rc != 0 {
		return fmt.Errorf("the JavaScript engine did not start: %w", errors.Join(err, v.why()))
	}
	if v.ptrs.context, err = v.call32(fnContext); err != nil {
		return err
	}
	if v.ptrs.scratch, err = v.call32(fnMalloc, scratchSize); err != nil {
		return err
	}
	if v.ptrs.stack = v.stackPointer(); v.ptrs.stack == 0 {
		return errors.New("the JavaScript engine has no stack pointer")
	}
	if err := v.setLimits(e.noInterrupt); err != nil {
		return err
	}
	if err := v.installHost(); err != nil {
		return err
	}
	g, err := v.eval(e.prelude, "prelude.js", evalScript)
	if err != nil {
		return fmt.Errorf("prelude: %w", err)
	}
	defer v.free(g)
	for k, name := range guestNames {
		f, err := v.getProp(g, name)
		if err != nil {
			return err
		}
		if ok, err := v.call(fnIsFunction, uint64(f)); err != nil || ok == 0 {
			if k < guestNeeded {
				return fmt.Errorf("prelude: guest.%s is not a function", name)
			}
			f = 0
		}
		v.ptrs.guest[k] = f
	}
	if f, err := v.getProp(g, "rejected"); err != nil || !v.mem.WriteUint32Le(v.ptrs.scratch+rejectedAt, f) {
		return errors.Join(errMemory, err)
	}
	if _, err := v.call(fnRejectionHandler, 1); err != nil {
		return err
	}
	if err := v.drain(); err != nil {
		return err
	}
	return v.collect(firstGarbage)
}

// firstGarbage is how much an instance allocates before the engine first collects garbage. Marking writes to every
// object, and so makes the pages of a mapped image private: short calls of a small gadget should not get there.
const firstGarbage = 1 << 20

// collect frees what the prelude left behind and sets the distance to the next collection.
func (v *vm) collect(next uint64) error {
	if _, err := v.call(fnRunGC); err != nil {
		return err
	}
	return v.collectAfter(next)
}

// collectAfter lets the engine collect garbage once so many bytes more are in use.
func (v *vm) collectAfter(next uint64) error {
	size, err := v.call32(fnAllocated)
	if err != nil {
		return err
	}
	_, err = v.call(fnSetThreshold, uint64(size)+next)
	return err
}

// newVM makes a VM for a gadget: from the prelude's image if there is one, and with the image of the gadget's code laid
// over it if that is not nil. The vm releases code when it is closed, newVM when it fails.
func (e *engine) newVM(h hostSide, limit int64, code *image.Image) (*vm, error) {
	if e.image == nil {
		return e.initVM(h, limit)
	}
	v, err := e.mapVM(h, limit)
	if err != nil {
		if code != nil {
			code.Release()
		}
		return nil, err
	}
	if v.code = code; code != nil {
		err = v.lay()
	}
	if err == nil {
		e.image.Warm(code, v.memory)
		err = e.seedRandom(v)
	}
	if err == nil {
		_, err = v.call(fnMemoryLimit, uint64(v.heapLimit()))
	}
	if err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// mapVM makes a VM that is as the prelude's image, down to its random state and its limits.
func (e *engine) mapVM(h hostSide, limit int64) (*vm, error) {
	v := &vm{host: h, limit: limit, ptrs: e.rest}
	v.ctx = context.WithValue(context.Background(), vmKey{}, v)
	ctx := experimental.WithMemoryAllocator(v.ctx, v.memoryFrom(e.image))
	mod, err := e.runtime.InstantiateModule(ctx, e.stripped, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, err
	}
	v.attach(mod)
	start := e.image.View()
	if _, ok := v.mem.Grow(uint32(len(start))/pageSize - v.mem.Size()/pageSize); !ok {
		v.close()
		return nil, memoryFailure(limit)
	}
	if e.image.Mapped() {
		v.base = start
	} else {
		v.mem.Write(0, start)
	}
	return v, nil
}

// seedRandom gives Math.random a start of the instance's own.
func (e *engine) seedRandom(v *vm) error {
	var seed [8]byte
	_, _ = rand.Read(seed[:])
	seed[0] |= 1 // never zero
	if !v.mem.Write(v.ptrs.context+e.random, seed[:]) {
		return errors.New("the start image is damaged")
	}
	return nil
}

// makeImage initialises one VM without a gadget and keeps its memory. Meanwhile it compiles what instances are made of that
// start from the image.
func (e *engine) makeImage(ctx context.Context, module *fuel.Module) error {
	compiled := make(chan error, 1)
	go func() {
		stripped, err := module.StripData(0)
		if err == nil {
			e.stripped, err = compile(ctx, e.runtime, stripped)
		}
		compiled <- err
	}()
	err := e.imagine(ctx, module)
	return errors.Join(err, <-compiled)
}

// imagine makes the image.
func (e *engine) imagine(ctx context.Context, module *fuel.Module) (err error) {
	if e.fresh, err = compile(ctx, e.runtime, module); err != nil {
		return err
	}
	v, err := e.initVM(noHost{}, 64<<20)
	if err != nil {
		return err
	}
	defer v.close()
	if e.random, err = findRandom(v); err != nil {
		return err
	}
	if v.stackPointer() != v.ptrs.stack {
		return errors.New("the engine is not at rest")
	}
	b, ok := v.mem.Read(0, v.mem.Size())
	if !ok {
		return errors.New("the engine's memory cannot be read")
	}
	e.image, e.rest = linear.NewImage(b, e.copyImage), v.ptrs
	if !e.noCodes {
		e.codes = image.NewStore(arenaSize, e.copyImage)
	}
	return nil
}

// findRandom finds the state of Math.random in the engine's context. The engine seeds it with its clock in
// microseconds, so a second initialisation under a chosen clock shows where it is.
func findRandom(v *vm) (uint32, error) {
	const window = 4096
	before, ok := v.mem.Read(v.ptrs.context, window)
	if !ok {
		return 0, errors.New("the engine's context cannot be read")
	}
	was := append([]byte(nil), before...)
	x, err := v.eval("Math.random()", "seed.js", evalScript)
	if err != nil {
		return 0, err
	}
	v.free(x)
	after, _ := v.mem.Read(v.ptrs.context, window)
	return image.FindRandom(was, after)
}

// hostModules gives the runtime everything that the engine imports.
func hostModules(ctx context.Context, r wazero.Runtime) error {
	i32, i64 := api.ValueTypeI32, api.ValueTypeI64
	type fn struct {
		name    string
		f       func(v *vm, st []uint64)
		params  []api.ValueType
		results []api.ValueType
	}
	one := []api.ValueType{i32}
	two, three := []api.ValueType{i32, i32}, []api.ValueType{i32, i32, i32}
	modules := map[string][]fn{
		"fuel": {{"tick", (*vm).tick, nil, one}},
		"env": {
			{"host_get_timezone_offset", func(_ *vm, st []uint64) { st[0] = 0 }, two, one},
			{"host_interrupt", (*vm).interrupt, nil, one},
			{"host_promise_rejection", (*vm).promiseRejection, three, nil},
			{"host_module_normalize", (*vm).moduleNormalize, two, one},
			{"host_module_load", (*vm).moduleLoad, two, one},
			{"host_call", (*vm).hostCall, []api.ValueType{i32, i32, i32, i32, i32}, one},
		},
		"wasi_snapshot_preview1": {
			{"clock_time_get", (*vm).clock, []api.ValueType{i32, i64, i32}, one},
			{"fd_close", badDescriptor, one, one},
			{"fd_fdstat_get", badDescriptor, two, one},
			{"fd_seek", badDescriptor, []api.ValueType{i32, i64, i32, i32}, one},
			{"fd_write", badDescriptor, []api.ValueType{i32, i32, i32, i32}, one},
			{"random_get", (*vm).randomGet, two, one},
		},
	}
	for name, fns := range modules {
		b := r.NewHostModuleBuilder(name)
		for _, f := range fns {
			b = b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(ctx context.Context, st []uint64) {
				f.f(ctx.Value(vmKey{}).(*vm), st)
			}), f.params, f.results).Export(f.name)
		}
		if _, err := b.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

// badDescriptor: the guest has no files (WASI's EBADF).
func badDescriptor(_ *vm, st []uint64) { st[0] = 8 }

// clockStart is where the clock that never goes back begins.
var clockStart = time.Now()

// clock gives the time, which no image may hold, or WASI's monotonic one; while the engine is initialised it gives the seed, which
// the engine takes from it.
func (v *vm) clock(st []uint64) {
	v.touched = true
	now := time.Now().UnixNano()
	if uint32(st[0]) == 1 {
		now = clockStart.UnixNano() + int64(time.Since(clockStart))
	}
	if v.seed != 0 {
		now = int64(v.seed) * 1000
	}
	if !v.mem.WriteUint64Le(uint32(st[2]), uint64(now)) {
		st[0] = 21 // WASI's EFAULT
		return
	}
	st[0] = 0
}

func (v *vm) randomGet(st []uint64) {
	v.touched = true
	b, ok := v.mem.Read(uint32(st[0]), uint32(st[1]))
	if !ok {
		st[0] = 21
		return
	}
	_, _ = rand.Read(b)
	st[0] = 0
}
