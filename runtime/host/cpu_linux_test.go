package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// BenchmarkCall tells how long a call takes, and what it costs each of the two processes: the figures by which a change to
// the way of a message is judged.
func BenchmarkCall(b *testing.B) {
	c, err := StartChild(b.Context(), realConfig())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	i := startReal(b, c, spec(counterCode))
	times := make([]time.Duration, 0, b.N)
	pids := []int{os.Getpid(), c.PID()}
	before := make([][2]int, len(pids))
	for k, pid := range pids {
		before[k] = ticks(b, pid)
	}
	for b.Loop() {
		d, err := timed(b.Context(), i, "ping")
		if err != nil {
			b.Fatal(err)
		}
		times = append(times, d)
	}
	report(b, pids, before, times)
}

// report tells the median of times, and what the kernel and the child have used for each since before.
func report(b *testing.B, pids []int, before [][2]int, times []time.Duration) {
	for k, name := range []string{"kernel", "child"} {
		after := ticks(b, pids[k])
		for m, mode := range []string{"user", "sys"} {
			b.ReportMetric(float64(after[m]-before[k][m])*1e4/float64(len(times)), fmt.Sprint(name, "-", mode, "-µs/op"))
		}
	}
	b.ReportMetric(rank(times, 0.5, time.Microsecond), "p50-µs")
}

// ticks returns the user and system time of a process, in hundredths of a second.
func ticks(b *testing.B, pid int) (t [2]int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	for k := range t {
		if t[k], err = strconv.Atoi(string(fields[11+k])); err != nil {
			b.Fatal(err)
		}
	}
	return t
}
