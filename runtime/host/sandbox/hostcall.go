package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"toolshed/runtime/host/sandbox/domain"
	"toolshed/runtime/host/sandbox/modules"
	"toolshed/runtime/host/sandbox/overlay"
	"toolshed/runtime/host/wire"
	"toolshed/runtime/storage"
)

// hostSide is what the functions of __host do. An error is thrown at the guest with its text; a *wire.Failure ends it.
type hostSide interface {
	send(text string) error
	get(key string) (value string, found bool, err error)
	list(o storage.ListOptions) ([]storage.Entry, error)
	put(key, value string) error
	remove(key string) (found bool, err error)
	clear() error
	alarm() (at int64, err error)
	setAlarm(at int64) error
	begin(sync bool) (int, error)
	commit(layer int) error
	rollback(layer int) error
	unwound()
	log(level, text string) error
	wake(ms float64) error
	fail(text string) error
}

// noHost is for a VM that becomes an image: nothing outside may be touched, and hostCall refuses to.
type noHost struct{ hostSide }

func (noHost) unwound() {}

// hostFunctions are the functions of __host.
var hostFunctions = map[string]func(v *vm, a args) (uint32, error){
	"send": texts(1, func(v *vm, s, _ string) (uint32, error) { return 0, v.host.send(s) }),
	"get": texts(1, func(v *vm, key, _ string) (uint32, error) {
		value, found, err := v.host.get(key)
		if err != nil || !found {
			return 0, err
		}
		return v.newString(value)
	}),
	"list": hostList,
	"put":  texts(2, func(v *vm, key, value string) (uint32, error) { return 0, v.host.put(key, value) }),
	"remove": texts(1, func(v *vm, key, _ string) (uint32, error) {
		found, err := v.host.remove(key)
		if err != nil {
			return 0, err
		}
		return v.boolean(found)
	}),
	"clear":    func(v *vm, _ args) (uint32, error) { return 0, v.host.clear() },
	"alarm":    hostAlarm,
	"setAlarm": hostSetAlarm,
	"begin":    hostBegin,
	"commit":   func(v *vm, a args) (uint32, error) { return hostEnd(a, v.host.commit) },
	"rollback": func(v *vm, a args) (uint32, error) { return hostEnd(a, v.host.rollback) },
	"log":      texts(2, func(v *vm, level, text string) (uint32, error) { return 0, v.host.log(level, text) }),
	"fail":     texts(1, func(v *vm, s, _ string) (uint32, error) { return 0, v.host.fail(s) }),
	"domain": texts(1, func(v *vm, name, _ string) (uint32, error) {
		out, ok := domain.ToASCII(name)
		if !ok {
			return 0, nil
		}
		return v.newString(out)
	}),
	"random": hostRandom,
	"digest": hostDigest, "hmac": hostHMAC, "seal": hostSeal, "open": hostOpen, "equal": hostEqual,
	"wake": func(v *vm, a args) (uint32, error) {
		ms, err := a.number(0)
		if err != nil {
			return 0, err
		}
		return 0, v.host.wake(ms)
	},
}

// texts is a host function whose arguments are one or two texts.
func texts(n int, f func(v *vm, one, two string) (uint32, error)) func(*vm, args) (uint32, error) {
	return func(v *vm, a args) (uint32, error) {
		var s [2]string
		for k := range n {
			var err error
			if s[k], err = a.text(k); err != nil {
				return 0, err
			}
		}
		return f(v, s[0], s[1])
	}
}

func hostList(v *vm, a args) (uint32, error) {
	s, err := a.text(0)
	if err != nil {
		return 0, err
	}
	o, err := overlay.ParseList(s)
	if err != nil {
		return 0, err
	}
	entries, err := v.host.list(o)
	if err != nil {
		return 0, err
	}
	out, err := overlay.ListText(entries)
	if err != nil {
		return 0, err
	}
	return v.newString(out)
}

func hostRandom(v *vm, a args) (uint32, error) {
	n, err := a.number(0)
	if err != nil {
		return 0, err
	}
	if !(n >= 0 && n <= 65536) {
		return 0, errors.New("random: at most 65536 bytes")
	}
	b := make([]byte, int(n))
	_, _ = rand.Read(b)
	p, err := v.write(string(b))
	if err != nil {
		return 0, err
	}
	x, err := v.call32(fnNewBytes, uint64(p), uint64(len(b)))
	if err != nil {
		return 0, err
	}
	return x, v.freeMemory(p)
}

func (v *vm) boolean(b bool) (uint32, error) {
	if b {
		return v.call32(fnTrue)
	}
	return v.call32(fnFalse)
}

// args are the arguments of a host function: handles that the engine owns.
type args struct {
	v       *vm
	handles []uint32
}

// text returns an argument that must be a string: nothing is converted, so no code of the guest runs.
func (a args) text(k int) (string, error) {
	if k < len(a.handles) {
		is, err := a.v.call32(fnIsString, uint64(a.handles[k]))
		if err != nil {
			return "", a.v.failure(err)
		}
		if is != 0 {
			s, ok, err := a.v.text(a.handles[k])
			if err != nil {
				return "", a.v.failure(err)
			}
			if !ok {
				return "", memoryFailure(a.v.limit)
			}
			return s, nil
		}
	}
	return "", fmt.Errorf("argument %d must be a string", k+1)
}

func (a args) number(k int) (float64, error) {
	if k < len(a.handles) {
		is, err := a.v.call32(fnIsNumber, uint64(a.handles[k]))
		if err != nil {
			return 0, a.v.failure(err)
		}
		if is != 0 {
			bits, err := a.v.call(fnGetNumber, uint64(a.handles[k]))
			if err != nil {
				return 0, a.v.failure(err)
			}
			return api.DecodeF64(bits), nil
		}
	}
	return 0, fmt.Errorf("argument %d must be a number", k+1)
}

// hostCall is the engine's call of a function of __host: name, length, this, argument count, arguments. It returns a
// handle, or 0 with an exception pending.
func (v *vm) hostCall(st []uint64) {
	name, ok := v.mem.Read(uint32(st[0]), uint32(st[1]))
	n := uint32(st[3])
	if !ok || n > 1024 {
		v.stop(wire.Fail(wire.KindTrap, errMemory.Error()))
	}
	v.touched = true
	f := hostFunctions[string(name)]
	a := args{v: v}
	if n > 0 {
		b, ok := v.mem.Read(uint32(st[4]), 4*n)
		if !ok {
			v.stop(wire.Fail(wire.KindTrap, errMemory.Error()))
		}
		a.handles = make([]uint32, n)
		for k := range a.handles {
			a.handles[k] = uint32(b[4*k]) | uint32(b[4*k+1])<<8 | uint32(b[4*k+2])<<16 | uint32(b[4*k+3])<<24
		}
	}
	if _, none := v.host.(noHost); none {
		st[0] = uint64(v.throw("the prelude touched the host"))
		return
	}
	if f == nil {
		st[0] = uint64(v.throw("there is no such host function"))
		return
	}
	x, err := f(v, a)
	var failure *wire.Failure
	switch {
	case errors.As(err, &failure):
		v.stop(failure)
	case err != nil:
		x = v.throw(err.Error())
	case x == 0:
		x = v.must(v.call32(fnUndefined))
	}
	st[0] = uint64(x)
}

// must is for calls from inside a host function: an error there ends the guest.
func (v *vm) must(x uint32, err error) uint32 {
	if err != nil {
		v.stop(v.failure(err))
	}
	return x
}

// throw makes an Error pending and returns the handle 0 that says so.
func (v *vm) throw(text string) uint32 {
	x := v.must(v.call32(fnNewError))
	s := v.must(v.newString(text))
	const configurableWritable = 3
	v.must(v.named(fnDefineProp, x, "message", uint64(s), configurableWritable))
	v.free(s)
	t := v.must(v.call32(fnThrow, uint64(x)))
	v.free(x)
	v.free(t)
	return 0
}

// installHost makes the global object __host.
func (v *vm) installHost() error {
	object, err := v.call32(fnNewObject)
	if err != nil {
		return err
	}
	for name := range hostFunctions {
		p, err := v.write(name)
		if err != nil {
			return err
		}
		f, err := v.call32(fnNewHostFunction, uint64(p), uint64(len(name)), 0)
		if err != nil {
			return err
		}
		if err := v.freeMemory(p); err != nil {
			return err
		}
		if _, err := v.named(fnSetProp, object, name, uint64(f)); err != nil {
			return err
		}
		v.free(f)
	}
	global, err := v.call32(fnGlobal)
	if err != nil {
		return err
	}
	if _, err := v.named(fnSetProp, global, "__host", uint64(object)); err != nil {
		return err
	}
	v.free(object)
	v.free(global)
	return nil
}

// rejectedAt is where in the scratch memory the prelude's function rejected is kept, and its arguments after it. There
// an image carries it; a guest that changes it only calls another function of its own.
const rejectedAt = 48

// promiseRejection tells the prelude of a promise that was rejected and that nobody waits for, or that somebody then does.
func (v *vm) promiseRejection(st []uint64) {
	at := v.ptrs.scratch + rejectedAt
	f, ok := v.mem.ReadUint32Le(at)
	handled := v.must(v.boolean(uint32(st[2]) != 0))
	for k, x := range []uint32{uint32(st[0]), uint32(st[1]), handled} {
		ok = v.mem.WriteUint32Le(at+4*uint32(k+1), x) && ok
	}
	if !ok {
		v.stop(wire.Fail(wire.KindTrap, errMemory.Error()))
	}
	x := v.must(v.call32(fnCall, uint64(f), uint64(handled), 3, uint64(at+4)))
	if is := v.must(v.call32(fnIsException, uint64(x))); is != 0 {
		v.must(0, v.dropException())
	}
	for _, y := range []uint32{uint32(st[0]), uint32(st[1]), handled, x} {
		v.free(y)
	}
}

// moduleNormalize resolves an import: the address of a text that ends with a zero, or 0 with an exception pending.
func (v *vm) moduleNormalize(st []uint64) {
	to, err := modules.Resolve(v.files, v.moduleName(uint32(st[0])), v.moduleName(uint32(st[1])))
	if err != nil {
		v.importFailed = true
		st[0] = uint64(v.throw(err.Error()))
		return
	}
	st[0] = uint64(v.must(v.write(to)))
}

// moduleLoad gives the source of a resolved module: its address, with its length stored where asked.
func (v *vm) moduleLoad(st []uint64) {
	text, err := v.workers, error(nil)
	if name := v.moduleName(uint32(st[0])); name != modules.Workers {
		text, err = modules.Source(v.files, name)
	}
	if err != nil {
		v.importFailed = true
		st[0] = uint64(v.throw(err.Error()))
		return
	}
	p := v.must(v.write(text))
	if !v.mem.WriteUint32Le(uint32(st[1]), uint32(len(text))) {
		v.stop(wire.Fail(wire.KindTrap, errMemory.Error()))
	}
	st[0] = uint64(p)
}

func (v *vm) moduleName(p uint32) string {
	s, err := v.cString(p)
	if err != nil {
		v.stop(wire.Fail(wire.KindTrap, err.Error()))
	}
	return s
}
