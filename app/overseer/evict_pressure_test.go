package overseer

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"toolshed/app/code"
	"toolshed/runtime/host"
)

// Where idle gadgets may stay, those are ended that were not used for longest once there are too many, or they have too much
// memory; but not one that was used just now.
func TestPressure(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		stay   int
	}{
		"many":   {func(o *Options) { o.MaxGadgets = 3 }, 3},
		"memory": {func(o *Options) { o.MaxMemory = 1 }, 6}, // a quarter of eight
	} {
		t.Run(name, func(t *testing.T) {
			k := openKernel(t, t.TempDir(), func(o *Options) { o.GadgetIdle = -1; c.change(o) })
			first := makeGadget(t, k, sleeper)
			refs := []Ref{first}
			for n := range 7 {
				ref, err := k.create(NewGadget{Title: fmt.Sprint("G", n), Workspace: first.Workspace}, code.Files{"server.js": []byte(sleeper)})
				if err != nil {
					t.Fatal(err)
				}
				refs = append(refs, ref)
			}
			rand.Shuffle(len(refs), func(i, j int) { refs[i], refs[j] = refs[j], refs[i] })
			begun := time.Now()
			for n, ref := range refs {
				must(t, k, ref, "remember", n)
			}
			if _, err := gadgetOf(t, k, refs[7]).running().child.Memory(); err != nil && name == "memory" {
				t.Skip(err)
			}
			k.evictor.sweep(time.Now().Add(-time.Hour)) // all were used since
			var running []int
			left := func() bool {
				running = nil
				for n, ref := range refs {
					if status(t, k, ref) != Idle {
						running = append(running, n)
					}
				}
				return len(running) == c.stay
			}
			if left(); len(running) != len(refs) && time.Since(begun) < hotTime {
				t.Errorf("of gadgets that were used just now only %v run", running)
			}
			for range 100 { // one that was called just now may not be quiet yet
				if left() {
					break
				}
				k.evictor.sweep(time.Now().Add(time.Hour))
			}
			want := []int{0, 1, 2, 3, 4, 5, 6, 7}[8-c.stay:]
			if !left() || !slices.Equal(running, want) {
				t.Errorf("%v run, want %v", running, want)
			}
		})
	}
}

// A child that is killed while its gadget is evicted takes nothing with it.
func TestKilledInMidEviction(t *testing.T) {
	k := openKernel(t, t.TempDir())
	ref := makeGadget(t, k, counter)
	g := gadgetOf(t, k, ref)
	sum, evictions := 0.0, atomic.Int32{}
	for n := range 30 {
		if t.Failed() {
			return
		}
		sum = again(t, k, ref, sum)
		waitFor(t, func() bool { return !busy(t, k, ref) })
		r := g.running()
		process, err := os.FindProcess(r.child.PID())
		if err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Go(func() {
			if g.evict(t.Context(), r) {
				evictions.Add(1)
			}
		})
		both.Go(func() {
			time.Sleep(time.Duration(rand.IntN(600)) * time.Microsecond)
			_ = process.Kill()
		})
		if n%2 == 0 { // a call that waits for the eviction, or dies with the child
			both.Go(func() { sum = again(t, k, ref, sum) })
		}
		both.Wait()
	}
	if got := again(t, k, ref, sum); got < sum+1 {
		t.Errorf("the sum is %v after %v", got, sum)
	}
	t.Logf("%d evictions in 30 kills", evictions.Load())
	if evictions.Load() == 0 {
		t.Error("nothing was evicted: nothing is shown")
	}
}

// again adds one to a sum that is at least that, however often the child dies meanwhile.
func again(t *testing.T, k *Kernel, ref Ref, sum float64) float64 {
	tries := 0.0
	for range 300 {
		tries++
		g := gadgetOf(t, k, ref)
		g.mu.Lock()
		g.died, g.suspicion = nil, suspicion{} // that many deaths would stop it
		g.mu.Unlock()
		got, err := call(t, k, ref, "add", 1)
		if err == nil {
			if v := got.(float64); v < sum+1 || v > sum+tries {
				t.Errorf("the sum is %v, after %v and %v tries", got, sum, tries)
			}
			return got.(float64)
		}
		if Explain(err).Kind != host.KindChild {
			t.Errorf("a call fails with %v", err)
		}
		time.Sleep(10 * time.Millisecond) // the end of the child may not be known yet
	}
	t.Error("the gadget cannot be called")
	return sum
}
