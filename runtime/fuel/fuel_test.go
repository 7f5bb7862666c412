package fuel_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"toolshed/runtime/fuel"
)

var options = fuel.Options{TickModule: "fuel", TickName: "tick", Refill: 1000, Entries: true}

// Building modules by hand: v is an unsigned number, vec a vector, sec a section, fn a body.
func v(n uint32) string { return string(binary.AppendUvarint(nil, uint64(n))) }

func vec(items ...string) string { return v(uint32(len(items))) + strings.Join(items, "") }

func sec(id byte, body string) string { return string([]byte{id}) + v(uint32(len(body))) + body }

func fn(code string) string {
	body := "\x00" + code + "\x0b"
	return v(uint32(len(body))) + body
}

func name(s string) string { return v(uint32(len(s))) + s }

func module(sections ...string) []byte {
	return []byte("\x00asm\x01\x00\x00\x00" + strings.Join(sections, ""))
}

const (
	i32        = "\x7f"
	noneToNone = "\x60\x00\x00"
	noneToI32  = "\x60\x00\x01\x7f"
	i32ToI32   = "\x60\x01\x7f\x01\x7f"
	loop       = "\x03\x40\x0c\x00\x0b" // loop br 0 end
)

// full uses every section and every kind of import, export, segment and index.
var full = module(
	sec(0, name("custom")+"anything"),
	sec(1, vec(noneToNone, noneToI32, i32ToI32)),
	sec(2, vec(
		name("env")+name("f")+"\x00"+v(2),
		name("env")+name("t")+"\x01\x70\x00"+v(4),
		name("env")+name("g")+"\x03\x7f\x00")),
	sec(3, vec(v(1), v(2), v(0), v(1), v(0))),
	sec(4, vec("\x70\x01"+v(8)+v(8), "\x6f\x00"+v(1))),
	sec(5, vec("\x00"+v(1))),
	sec(6, vec("\x7f\x01\x41\x07\x0b", "\x70\x00\xd2"+v(2)+"\x0b", "\x7e\x00\x42\x00\x0b", "\x7b\x00\xfd\x0c0123456789abcdef\x0b")),
	sec(7, vec(name("run")+"\x00"+v(1), name("mem")+"\x02"+v(0), name("glob")+"\x03"+v(1), name("tab")+"\x01"+v(1),
		name("count")+"\x00"+v(4), name("spin")+"\x00"+v(3), name("up")+"\x00"+v(2))),
	sec(8, v(5)),
	sec(9, vec(
		"\x00\x41\x00\x0b"+vec(v(2)),
		"\x02"+v(1)+"\x41\x00\x0b\x00"+vec(v(2), v(0)),
		"\x01\x00"+vec(v(2)),
		"\x03\x00"+vec(v(2)),
		"\x05\x70"+vec("\xd2"+v(2)+"\x0b", "\xd0\x70\x0b"))),
	sec(12, v(2)),
	sec(10, vec(
		fn("\x41\x01\x41\x00\x11"+v(2)+v(1)+"\x10"+v(0)), // run: up(1) through table 1, then env.f
		fn("\x20\x00\x41\x01\x6a"),                       // up: its argument + 1
		fn(loop),                                         // spin
		fn("\x23"+v(1)),                                  // count: the global
		fn("\x41\x00\x41\x00\x41\x04\xfc\x08"+v(1)+v(0)+"\x41\x08\x41\x00\x41\x04\xfc\x0a\x00\x00\x41\x10\x41\x2a\x41\x02\xfc\x0b\x00"+
			"\x41\x00\x41\x00\x41\x01\xfc\x0c"+v(2)+v(1)+"\xfc\x0d"+v(2)+"\x41\x00\x41\x00\x41\x01\xfc\x0e"+v(1)+v(1)+
			"\xd0\x6f\x41\x00\xfc\x0f"+v(2)+"\x1a\x23"+v(1)+"\x41\x01\x6a\x24"+v(1)), // start: bulk operations, count + 1
	)),
	sec(11, vec("\x00\x41\x20\x0b"+vec("d", "a", "t", "a"), "\x01"+vec("i", "n", "i", "t"))),
)

// run compiles and instantiates with a tick that gives up after the given number of calls.
func run(t testing.TB, wasm []byte, ticks int) (api.Module, *int, error) {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(64))
	t.Cleanup(func() { r.Close(ctx) })
	n := new(int)
	b := r.NewHostModuleBuilder("fuel")
	b.NewFunctionBuilder().WithFunc(func() uint32 {
		if *n++; *n > ticks {
			return 1
		}
		return 0
	}).Export("tick")
	if _, err := b.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	env := module(
		sec(1, vec(i32ToI32)), sec(3, vec(v(0))), sec(4, vec("\x70\x00"+v(4))), sec(6, vec("\x7f\x00\x41\x05\x0b")),
		sec(7, vec(name("f")+"\x00\x00", name("t")+"\x01\x00", name("g")+"\x03\x00")),
		sec(10, vec(fn("\x20\x00\x41\x0a\x6c"))))
	// The imported table's maximum is bounded by the pass, so the module that gives it goes through it too.
	m, err := fuel.Instrument(env, options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.InstantiateWithConfig(ctx, m.Wasm(), wazero.NewModuleConfig().WithName("env")); err != nil {
		t.Fatal(err)
	}
	mod, err := r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName("m"))
	return mod, n, err
}

func call(t testing.TB, m api.Module, f string, args ...uint64) (uint64, error) {
	t.Helper()
	out, err := m.ExportedFunction(f).Call(context.Background(), args...)
	if len(out) > 0 {
		return out[0], err
	}
	return 0, err
}

func instrument(t testing.TB, wasm []byte) []byte {
	t.Helper()
	m, err := fuel.Instrument(wasm, options)
	if err != nil {
		t.Fatal(err)
	}
	return m.Wasm()
}

// A module that uses everything does the same with fuel, except that its endless loop ends.
func TestEverythingKeepsItsMeaning(t *testing.T) {
	m, ticks, err := run(t, instrument(t, full), 3)
	if err != nil {
		t.Fatal(err)
	}
	for f, want := range map[string]uint64{"run": 20, "count": 8} {
		if got, err := call(t, m, f); err != nil || got != want {
			t.Errorf("%s = %d, %v; want %d", f, got, err, want)
		}
	}
	if got, err := call(t, m, "up", 41); err != nil || got != 42 {
		t.Errorf("up = %d, %v", got, err)
	}
	for at, want := range map[uint32]string{0: "init", 8: "init", 16: "**", 32: "data"} {
		if b, _ := m.Memory().Read(at, uint32(len(want))); string(b) != want {
			t.Errorf("memory at %d: %q, want %q", at, b, want)
		}
	}
	if *ticks != 0 {
		t.Errorf("%d ticks before the loop", *ticks)
	}
	if _, err := call(t, m, "spin"); err == nil || *ticks != 4 {
		t.Errorf("spin: %v after %d ticks", err, *ticks)
	}
}

// The same module without fuel must not end: this shows what the test above can see.
func TestRefillIsWhatIsPaid(t *testing.T) {
	// One call of a function that loops exactly n times.
	code := "\x03\x40\x20\x00\x41\x01\x6b\x22\x00\x0d\x00\x0b" // loop; local 0 -= 1; br_if 0
	wasm := module(sec(1, vec("\x60\x01\x7f\x00")), sec(3, vec(v(0))), sec(7, vec(name("f")+"\x00\x00")),
		sec(10, vec(fn(code))))
	m, ticks, err := run(t, instrument(t, wasm), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, m, "f", 100_000); err != nil {
		t.Fatal(err)
	}
	if *ticks < 95 || *ticks > 100 {
		t.Fatalf("%d ticks for 100,000 iterations at 1,000", *ticks)
	}
}

// Modules without any of the sections that are added to.
func TestSmallModules(t *testing.T) {
	for what, wasm := range map[string][]byte{
		"empty":       module(),
		"memory only": module(sec(5, vec("\x00\x01"))),
		"custom only": module(sec(0, name("x"))),
		"no globals":  module(sec(1, vec(noneToNone)), sec(3, vec(v(0))), sec(10, vec(fn("\x01")))),
	} {
		if _, _, err := run(t, instrument(t, wasm), 0); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Recursion without a loop ends with entry checks.
func TestEntries(t *testing.T) {
	// fib-like: f(n) = n == 0 ? 0 : f(n-1) + f(n-1)
	code := "\x20\x00\x45\x04\x7f\x41\x00\x05\x20\x00\x41\x01\x6b\x10\x00\x20\x00\x41\x01\x6b\x10\x00\x6a\x0b"
	wasm := module(sec(1, vec(i32ToI32)), sec(3, vec(v(0))), sec(7, vec(name("f")+"\x00\x00")), sec(10, vec(fn(code))))
	m, _, err := run(t, instrument(t, wasm), 5)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, m, "f", 60); err == nil {
		t.Fatal("2^60 calls went through")
	}
}

// Bulk operations are paid by their length, before they are made.
func TestBulkIsCharged(t *testing.T) {
	fill := "\x41\x00\x41\x01\x41\x80\x80\x80\x01\xfc\x0b\x00" // 2 MiB
	wasm := module(sec(1, vec(noneToNone)), sec(3, vec(v(0))), sec(5, vec("\x00"+v(40))),
		sec(7, vec(name("f")+"\x00\x00")), sec(10, vec(fn(fill))))
	m, ticks, err := run(t, instrument(t, wasm), 100)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, m, "f"); err != nil || *ticks != 1 {
		t.Fatalf("%v, %d ticks", err, *ticks)
	}
}

// A guest that names what the pass adds is refused, although it would be valid afterwards.
func TestAddedThingsCannotBeNamed(t *testing.T) {
	with := func(code string, more ...string) []byte {
		return module(append([]string{sec(1, vec(noneToNone)), sec(3, vec(v(0)))}, append(more, sec(10, vec(fn(code))))...)...)
	}
	for what, wasm := range map[string][]byte{
		"set the fuel":       with("\x41\x00\x24\x00"),
		"call slow":          with("\x10" + v(2)),
		"call the tick":      with("\x10" + v(1)),
		"export the fuel":    with("\x01", sec(7, vec(name("x")+"\x03"+v(0)))),
		"export slow":        with("\x01", sec(7, vec(name("x")+"\x00"+v(2)))),
		"element slow":       with("\x01", sec(4, vec("\x70\x00\x01")), sec(9, vec("\x00\x41\x00\x0b"+vec(v(2))))),
		"call indirect type": with("\x41\x00\x11"+v(1)+v(0), sec(4, vec("\x70\x00\x01"))),
		"block type":         with("\x02" + v(1) + "\x1a\x0b"),
		"start slow":         with("\x01", sec(8, v(2))),
	} {
		if _, err := fuel.Instrument(wasm, options); err == nil {
			t.Errorf("%s: let through", what)
		}
	}
}

func TestUnsupported(t *testing.T) {
	with := func(code string) []byte {
		return module(sec(1, vec(noneToNone)), sec(3, vec(v(0))), sec(10, vec(fn(code))))
	}
	for what, wasm := range map[string][]byte{
		"tail call":       with("\x12\x00"),
		"try":             with("\x06\x40\x0b"),
		"atomic":          with("\xfe\x03\x00"),
		"relaxed simd":    with("\xfd" + v(256)),
		"two memories":    module(sec(5, vec("\x00\x01", "\x00\x01"))),
		"shared memory":   module(sec(5, vec("\x03\x01\x01"))),
		"64-bit memory":   module(sec(5, vec("\x04\x01"))),
		"tags":            module(sec(13, vec("\x00\x00"))),
		"a huge table":    module(sec(4, vec("\x70\x00"+v(1<<20)))),
		"struct types":    module(sec(1, vec("\x5f\x00"))),
		"import of a tag": module(sec(1, vec(noneToNone)), sec(2, vec(name("a")+name("b")+"\x04\x00\x00"))),
	} {
		if _, err := fuel.Instrument(wasm, options); !errors.Is(err, fuel.ErrUnsupported) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestStripData(t *testing.T) {
	wasm := module(sec(1, vec(noneToNone)), sec(3, vec(v(0))), sec(5, vec("\x00\x01")), sec(7, vec(name("m")+"\x02\x00")),
		sec(8, v(0)), sec(10, vec(fn("\x00"))), sec(11, vec("\x00\x41\x00\x0b"+vec("x"))))
	m, err := fuel.Instrument(wasm, options)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t, m.Wasm(), 1); err == nil {
		t.Fatal("the start function does not trap")
	}
	s, err := m.StripData(3)
	if err != nil {
		t.Fatal(err)
	}
	i, _, err := run(t, s.Wasm(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := i.Memory().ReadByte(0); i.Memory().Size() != 3<<16 || b != 0 {
		t.Fatal(i.Memory().Size(), b)
	}
	if f, err := fuel.Instrument(full, options); err != nil {
		t.Fatal(err)
	} else if _, err := f.StripData(3); err == nil {
		t.Fatal("memory.init would find nothing")
	}
	if s, err = m.StripData(0); err != nil {
		t.Fatal(err)
	}
	if i, _, err := run(t, s.Wasm(), 1); err != nil || i.Memory().Size() != 1<<16 {
		t.Fatal("without a number the memory has another size: ", err)
	}
	if m, err = fuel.Instrument(module(sec(5, vec("\x00\x02"))), options); err != nil {
		t.Fatal(err)
	}
	if _, err := m.StripData(1); err == nil {
		t.Fatal("fewer pages than the module has")
	}
}

var corpus = [][]byte{full, module(), module(sec(5, vec("\x00\x01"))), module(sec(1, vec(noneToNone, noneToI32)),
	sec(3, vec(v(0), v(1))), sec(5, vec("\x01\x01\x02")), sec(7, vec(name("f")+"\x00\x00")),
	sec(10, vec(fn("\x02\x40\x03\x40\x41\x00\x28\x02\x00\x0e\x01\x00\x01\x0b\x0b"+loop), fn("\x41\x07\x41\x01\x04\x7f\x41\x02\x05\x41\x03\x0b\x6a"))))}

// accepted tells whether the runtime takes a module (it is decoded and validated, not run).
func accepted(t testing.TB, r wazero.Runtime, wasm []byte) bool {
	c, err := r.CompileModule(context.Background(), wasm)
	if err != nil {
		return false
	}
	c.Close(context.Background())
	return true
}

// withoutCustom drops the custom sections that have a name: the pass does so too, and the runtime has opinions about
// their contents.
func withoutCustom(wasm []byte) []byte {
	if len(wasm) < 8 {
		return wasm
	}
	out := append([]byte(nil), wasm[:8]...)
	for rest := wasm[8:]; len(rest) > 0; {
		n, k := binary.Uvarint(rest[1:])
		if k <= 0 || n > uint64(len(rest)-1-k) {
			return append(out, rest...)
		}
		end := 1 + k + int(n)
		if rest[0] != 0 || !named(rest[1+k:end]) {
			out = append(out, rest[:end]...)
		}
		rest = rest[end:]
	}
	return out
}

// named tells whether a custom section begins with its name, as the core specification asks.
func named(section []byte) bool {
	n, k := binary.Uvarint(section)
	return k > 0 && k <= 5 && n <= uint64(len(section)-k) && utf8.Valid(section[k:k+int(n)])
}

// check is the property of Instrument: no panic; what it lets through is accepted by the runtime exactly if the
// original is; what it refuses and the runtime would accept is only the unsupported. The last is checked only if asked:
// the runtime's own decoder believes counts, and random ones can ask it for more memory than there is.
func check(t testing.TB, r wazero.Runtime, wasm []byte, asked bool) (valid bool) {
	t.Helper()
	m, err := fuel.Instrument(wasm, options)
	if err != nil && !asked {
		return false
	}
	before := accepted(t, r, withoutCustom(wasm))
	if err != nil {
		if before && !errors.Is(err, fuel.ErrUnsupported) {
			t.Errorf("a valid module is refused: %v\n%x", err, wasm)
		}
		return before
	}
	if after := accepted(t, r, m.Wasm()); after != before {
		t.Errorf("the runtime accepts the original: %v, the result: %v\n%x\n%x", before, after, wasm, m.Wasm())
	}
	if _, err := m.StripData(1); err == nil && before {
		s, _ := m.StripData(1)
		if !accepted(t, r, s.Wasm()) {
			t.Errorf("the stripped module is refused\n%x", s.Wasm())
		}
	}
	return before
}

func newRuntime(t testing.TB) wazero.Runtime {
	r := wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(64))
	t.Cleanup(func() { r.Close(context.Background()) })
	return r
}

func TestMutations(t *testing.T) {
	r := newRuntime(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	valid, all := 0, 0
	check := func(t testing.TB, r wazero.Runtime, wasm []byte) {
		if all++; check(t, r, wasm, true) {
			valid++
		}
	}
	for _, wasm := range corpus {
		for n := range len(wasm) {
			check(t, r, wasm[:n])
			for _, b := range []byte{0, 1, 0x7f, 0x80, 0xff, wasm[n] + 1, wasm[n] - 1, byte(rnd.Uint32())} {
				m := append([]byte(nil), wasm...)
				m[n] = b
				check(t, r, m)
			}
		}
	}
	for range 3000 {
		m := append([]byte(nil), corpus[rnd.IntN(len(corpus))]...)
		for range 1 + rnd.IntN(4) {
			at := 8 + rnd.IntN(max(1, len(m)-8))
			switch rnd.IntN(3) {
			case 0:
				m = append(m[:min(at, len(m))], m[min(at+1, len(m)):]...)
			case 1:
				m = append(m[:min(at, len(m))], append([]byte{byte(rnd.Uint32())}, m[min(at, len(m)):]...)...)
			default:
				if at < len(m) {
					m[at] = byte(rnd.Uint32())
				}
			}
		}
		check(t, r, m)
	}
	if t.Logf("%d of %d are valid", valid, all); valid < all/20 || valid > all*19/20 {
		t.Error("the mutations test only one side")
	}
}

func FuzzInstrument(f *testing.F) {
	for _, wasm := range corpus {
		f.Add(wasm)
	}
	f.Fuzz(func(t *testing.T, wasm []byte) { check(t, newRuntime(t), wasm, false) })
}
