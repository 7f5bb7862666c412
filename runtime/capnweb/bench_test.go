package capnweb

import (
	"context"
	"encoding/json"
	"testing"
)

func benchPair(b *testing.B) (*Stub, context.Context) {
	x, y := Pipe()
	remote := NewSession(y, (&server{}).target(), nil)
	client := NewSession(x, nil, nil)
	main := client.Main()
	b.Cleanup(func() {
		main.Dispose()
		client.Close()
		remote.Close()
	})
	b.ReportAllocs()
	b.ResetTimer()
	return main, context.Background()
}

func BenchmarkSequential(b *testing.B) {
	main, ctx := benchPair(b)
	for i := range b.N {
		if _, err := main.Call(ctx, "square", i&1023).Await(ctx); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

func BenchmarkParallel(b *testing.B) {
	main, ctx := benchPair(b)
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := main.Call(ctx, "square", 12).Await(ctx); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

func BenchmarkPipelined(b *testing.B) {
	main, ctx := benchPair(b)
	const batch = 256
	for b.Loop() {
		var last *Promise
		c := main.Call(ctx, "makeCounter", 1)
		for range batch {
			if last != nil {
				last.Dispose()
			}
			last = c.Call(ctx, "inc", 1)
		}
		if _, err := last.Await(ctx); err != nil {
			b.Fatal(err)
		}
		c.Dispose()
	}
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "calls/s")
}

func BenchmarkParse(b *testing.B) {
	msg := []byte(`["push",["pipeline",0,["method"],[{"id":1,"name":"something","list":[[1,2,3]]},["date",1000]]]]`)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := parseJSON(msg, 512, 1<<30); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOfficialClient times the official client against this server and against the
// official one, each in a process of its own.
func BenchmarkOfficialClient(b *testing.B) {
	for _, who := range []string{"go", "official"} {
		b.Run(who, func(b *testing.B) {
			address := ""
			if who == "go" {
				address = goServer(b)
			} else {
				address = officialServer(b)
			}
			out, err := node(b, "bench.mjs", address).Output()
			if err != nil {
				b.Fatal(err)
			}
			var r struct{ Sequential, Parallel float64 }
			if err := json.Unmarshal(out, &r); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(r.Sequential, "µs/call")
			b.ReportMetric(r.Parallel, "calls/s")
		})
	}
}
