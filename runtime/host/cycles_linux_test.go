package host

import (
	"os"
	"runtime"
	"strconv"
	"testing"
)

// heldNow is what a process and its child hold.
type heldNow struct {
	child, heap    int64 // bytes
	files, handles int   // descriptors of this process, and of the child
	goroutines     int
}

func holds(t *testing.T, c *Child, n *neighbour) heldNow {
	t.Helper()
	n.ping() // when it rests the child gives free memory back
	h := heldNow{child: settledMemory(t, c)}
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h.heap, h.goroutines = int64(m.HeapAlloc), runtime.NumGoroutine()
	for n, pid := range map[*int]string{&h.files: "self", &h.handles: strconv.Itoa(c.PID())} {
		entries, err := os.ReadDir("/proc/" + pid + "/fd")
		if err != nil {
			t.Log(err) // a child that is not dumpable shows nobody its descriptors
			continue
		}
		*n = len(entries)
	}
	return h
}

// TestOpenCloseCycles opens a gadget, calls it and closes it TOOLSHED_CYCLES times (300), some of them with an end that is
// not wanted: nothing may pile up, in the child or here. The first half has filled whatever is kept.
func TestOpenCloseCycles(t *testing.T) {
	cycles, _ := strconv.Atoi(os.Getenv("TOOLSHED_CYCLES"))
	if cycles <= 0 {
		cycles = 300
	}
	c := startChild(t, realConfig())
	n := newNeighbour(t, c)
	cases := append(make([]hostile, 16), dives("depth", `const g = () => 1 + g(); return g()`), grows("memory", `return "x".repeat(2 ** 29)`),
		hostile{name: "throws", code: `throw null`, err: "thrown value"}, hostile{name: "refused", top: `throw new Error("no");`, start: "no"})
	half := func() heldNow {
		for k := range cycles / 2 {
			cases[k%len(cases)].attack(t, c)
			if t.Failed() {
				t.FailNow()
			}
		}
		return holds(t, c, n)
	}
	start := holds(t, c, n)
	first := half()
	second := half()
	t.Logf("at the start %+v, after %d cycles %+v, after %d %+v", start, cycles/2, first, cycles, second)
	// Each cycle has two instances. What the second half adds must be nothing beside what they would have kept.
	const slack = 4 << 20
	if second.child > first.child+first.child/4+slack {
		t.Errorf("the child grows: %d KiB, then %d KiB", first.child>>10, second.child>>10)
	}
	if second.heap > first.heap+first.heap/4+slack {
		t.Errorf("the heap grows: %d KiB, then %d KiB", first.heap>>10, second.heap>>10)
	}
	if second.files > first.files || second.handles > first.handles {
		t.Errorf("descriptors: %d and %d, then %d and %d", first.files, first.handles, second.files, second.handles)
	}
	if second.goroutines > first.goroutines+2 {
		t.Errorf("goroutines: %d, then %d", first.goroutines, second.goroutines)
	}
}
