package host

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// BenchmarkStart tells how long an instance takes to start, with code that the child has evaluated before and with other
// code each time, and what that costs each of the two processes.
func BenchmarkStart(b *testing.B) {
	for name, same := range map[string]bool{"same": true, "different": false} {
		b.Run(name, func(b *testing.B) {
			c, err := StartChild(b.Context(), realConfig())
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(c.Close)
			var times []time.Duration
			pids := []int{os.Getpid(), c.PID()}
			before := make([][2]int, len(pids))
			for k, pid := range pids {
				before[k] = ticks(b, pid)
			}
			n := 0
			for b.Loop() {
				code := counterCode
				if n++; !same {
					code = fmt.Sprintf("%s // %d", code, n)
				}
				from := time.Now()
				i := startReal(b, c, spec(code))
				times = append(times, time.Since(from))
				i.Close()
			}
			report(b, pids, before, times)
		})
	}
}
