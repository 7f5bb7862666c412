package fuel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"toolshed/runtime/fuel"
)

// The WebAssembly core suite comes inside the runtime's own module, as scripts that the suite's tools turned into JSON. A
// script is a list of commands on modules; here each is run on the modules as they are and again as the pass leaves them,
// with and without their data segments, and what the commands give must be the same, bit for bit.

// script is one file of the suite.
type script struct {
	Commands []command `json:"commands"`
}

type command struct {
	Type       string `json:"type"`
	Line       int    `json:"line"`
	Name       string `json:"name"`
	Filename   string `json:"filename"`
	As         string `json:"as"`
	ModuleType string `json:"module_type"`
	Action     struct {
		Type   string  `json:"type"`
		Module string  `json:"module"`
		Field  string  `json:"field"`
		Args   []value `json:"args"`
	} `json:"action"`
}

type value struct {
	Type     string `json:"type"`
	LaneType string `json:"lane_type"`
	Value    any    `json:"value"`
}

// bits returns the value as the runtime takes it.
func (v value) bits() []uint64 {
	if v.Type != "v128" {
		s, _ := v.Value.(string)
		if v.Type == "externref" && s != "" && s != "null" {
			n, _ := strconv.ParseUint(s, 10, 64)
			return []uint64{n + 1} // the runtime's null is 0
		}
		return []uint64{parseBits(s)}
	}
	width, _ := strconv.Atoi(v.LaneType[1:])
	out := make([]uint64, 2)
	for k, lane := range v.Value.([]any) {
		at := k * width
		out[at/64] |= parseBits(lane.(string)) & (^uint64(0) >> (64 - width)) << (at % 64)
	}
	return out
}

func parseBits(s string) uint64 {
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		return n
	}
	n, _ := strconv.ParseInt(s, 10, 64)
	return uint64(n) // "null" and the like are 0
}

// world is a runtime in which one script runs, on modules that were changed or not.
type world struct {
	t       testing.TB
	folder  string
	runtime wazero.Runtime
	change  func(wasm []byte) ([]byte, error)
	modules map[string]api.Module
	last    api.Module
	count   map[string]int

	strip    bool // start modules from the memory that another instance began with
	stripped int  // modules so started
}

func newWorld(t testing.TB, folder string, change func([]byte) ([]byte, error)) *world {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCompilationCache(suiteCache(t)).WithCoreFeatures(api.CoreFeaturesV2))
	b := r.NewHostModuleBuilder("fuel")
	b.NewFunctionBuilder().WithFunc(func() uint32 { return 0 }).Export("tick")
	if _, err := b.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, folder: folder, runtime: r, change: change, modules: map[string]api.Module{}, count: map[string]int{}}
	wasm, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(folder)), "testdata", "spectest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if wasm, err = change(wasm); err != nil {
		t.Fatal(err)
	}
	if _, err := r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName("spectest")); err != nil {
		t.Fatal(err)
	}
	return w
}

func suiteCache(t testing.TB) wazero.CompilationCache {
	cache := wazero.NewCompilationCache()
	t.Cleanup(func() { cache.Close(context.Background()) })
	return cache
}

// load instantiates a module of the suite under a name.
func (w *world) load(file, name string) (api.Module, error) {
	wasm, err := os.ReadFile(filepath.Join(w.folder, file))
	if err != nil {
		w.t.Fatal(err)
	}
	if w.strip {
		return w.loadStripped(wasm, name)
	}
	if wasm, err = w.change(wasm); err != nil {
		return nil, err
	}
	return w.runtime.InstantiateWithConfig(context.Background(), wasm, wazero.NewModuleConfig().WithName(name))
}

// loadStripped instantiates a module twice: with its data segments, and from the memory that they left.
func (w *world) loadStripped(wasm []byte, name string) (api.Module, error) {
	ctx := context.Background()
	m, err := fuel.Instrument(wasm, options)
	if err != nil {
		return nil, err
	}
	whole := func(name string) (api.Module, error) {
		return w.runtime.InstantiateWithConfig(ctx, m.Wasm(), wazero.NewModuleConfig().WithName(name))
	}
	first, err := whole("")
	if err != nil {
		return nil, err
	}
	if reflect.ValueOf(first.Memory()).IsNil() {
		return whole(name)
	}
	size := first.Memory().Size()
	s, err := m.StripData(size >> 16)
	if err != nil { // it uses its data at run time, or another module's memory
		return whole(name)
	}
	second, err := w.runtime.InstantiateWithConfig(ctx, s.Wasm(), wazero.NewModuleConfig().WithName(name))
	if err != nil {
		return nil, err
	}
	image, _ := first.Memory().Read(0, size)
	second.Memory().Write(0, image)
	w.stripped++
	return second, nil
}

// perform carries out the commands and returns a line for what each gave.
func (w *world) perform(commands []command) []string {
	var out []string
	for k := 0; k < len(commands); k++ {
		c := &commands[k]
		w.count[c.Type]++
		gave := ""
		switch c.Type {
		case "module":
			as := ""
			if k+1 < len(commands) && commands[k+1].Type == "register" {
				k++
				as = commands[k].As
			}
			m, err := w.load(c.Filename, as)
			if gave = brief(err); err == nil {
				w.last = m
				w.modules[c.Name] = m
			}
		case "register":
			gave = "not at its module"
		case "assert_malformed", "assert_invalid", "assert_unlinkable", "assert_uninstantiable":
			if c.ModuleType == "text" {
				continue // for a parser of the text format
			}
			_, err := w.load(c.Filename, "")
			gave = fmt.Sprint("refused: ", err != nil)
		default:
			gave = w.act(c)
		}
		out = append(out, fmt.Sprintf("line %d: %s %s: %s", c.Line, c.Type, c.Action.Field, gave))
	}
	return out
}

func (w *world) act(c *command) string {
	m := w.last
	if c.Action.Module != "" {
		m = w.modules[c.Action.Module]
	}
	if m == nil {
		return "no module"
	}
	if c.Action.Type == "get" {
		return fmt.Sprint(m.ExportedGlobal(c.Action.Field).Get())
	}
	var args []uint64
	for _, a := range c.Action.Args {
		args = append(args, a.bits()...)
	}
	f := m.ExportedFunction(c.Action.Field)
	if f == nil {
		return "no function"
	}
	results, err := f.Call(context.Background(), args...)
	if err != nil {
		return brief(err)
	}
	at := 0
	var out []string
	for _, t := range f.Definition().ResultTypes() {
		switch t {
		case 0x70: // a function reference is an address
			out = append(out, fmt.Sprint("null: ", results[at] == 0))
		case 0x7b: // v128
			out = append(out, fmt.Sprintf("%x %x", results[at], results[at+1]))
			at++
		default:
			out = append(out, fmt.Sprintf("%x", results[at]))
		}
		at++
	}
	return strings.Join(out, ", ")
}

// brief is an error without what names functions by their numbers, which the pass changes.
func brief(err error) string {
	if err == nil {
		return "done"
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return first
}

// suite returns the folders of the suite's scripts.
func suite(t testing.TB) []string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest")
	return []string{filepath.Join(root, "v1", "testdata"), filepath.Join(root, "v2", "testdata")}
}

func scripts(t testing.TB, folder string) map[string][]command {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) < 70 {
		t.Fatalf("the suite has %d scripts (%v)", len(files), err)
	}
	out := map[string][]command{}
	for _, file := range files {
		var s script
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".json")] = s.Commands
	}
	return out
}

func asIs(wasm []byte) ([]byte, error) { return wasm, nil }

func fuelled(o fuel.Options) func([]byte) ([]byte, error) {
	return func(wasm []byte) ([]byte, error) {
		m, err := fuel.Instrument(wasm, o)
		if err != nil {
			return nil, err
		}
		return m.Wasm(), nil
	}
}

// The core suite gives the same results with and without fuel, whether the fuel lasts or runs out all the time.
func TestCoreSuite(t *testing.T) {
	for _, folder := range suite(t) {
		version := filepath.Base(filepath.Dir(folder))
		total, stripped := map[string]int{}, 0
		for name, commands := range scripts(t, folder) {
			plain := newWorld(t, folder, asIs)
			want := plain.perform(commands)
			for k, n := range plain.count {
				total[k] += n
			}
			plain.runtime.Close(context.Background())
			for _, refill := range []int32{1, fuel.DefaultRefill} {
				o := options
				o.Refill = refill
				w := newWorld(t, folder, fuelled(o))
				got := w.perform(commands)
				w.runtime.Close(context.Background())
				compare(t, fmt.Sprintf("%s/%s with a refill of %d", version, name, refill), want, got)
			}
			w := newWorld(t, folder, fuelled(options))
			w.strip = true
			compare(t, fmt.Sprintf("%s/%s stripped", version, name), want, w.perform(commands))
			w.runtime.Close(context.Background())
			stripped += w.stripped
		}
		kinds := slices.Sorted(maps.Keys(total))
		for k, kind := range kinds {
			kinds[k] = fmt.Sprint(kind, " ", total[kind])
		}
		t.Logf("%s: %s; %d modules without their data segments", version, strings.Join(kinds, ", "), stripped)
		if total["assert_return"] < 15000 || stripped < 100 {
			t.Errorf("%s: too little of the suite ran", version)
		}
	}
}

func compare(t *testing.T, what string, want, got []string) {
	t.Helper()
	differences := 0
	for k := range want {
		if want[k] != got[k] {
			if differences++; differences < 5 {
				t.Errorf("%s:\n  as it is  %s\n  with fuel %s", what, want[k], got[k])
			}
		}
	}
}

// Mutations of the suite's modules give an error or a module that the runtime judges like the mutated one; never a panic.
func TestSuiteMutations(t *testing.T) {
	const each, largest = 20, 4 << 10
	r := newRuntime(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	valid, all := 0, 0
	for _, folder := range suite(t) {
		files, err := filepath.Glob(filepath.Join(folder, "*.wasm"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			wasm, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(wasm) < 10 || len(wasm) > largest {
				continue
			}
			for range each {
				m := slices.Clone(wasm)
				for range 1 + rnd.IntN(3) {
					m[8+rnd.IntN(len(m)-8)] = byte(rnd.Uint32())
				}
				if all++; check(t, r, m, false) {
					valid++
				}
			}
		}
	}
	if t.Logf("%d of %d are valid", valid, all); valid < all/50 || valid > all*49/50 {
		t.Error("the mutations test only one side")
	}
}
