package host

import (
	"flag"
	"testing"
)

var (
	measure = flag.Bool("measure", false, "print the sandbox's figures")
	refill  = flag.Int("refill", 0, "the fuel between two ticks for -measure")
)

func TestMeasure(t *testing.T) {
	if !*measure {
		t.Skip("takes half a minute: -measure")
	}
	c := realConfig()
	c.Refill = int32(*refill)
	figures, err := Measure(t.Context(), c, false)
	for _, f := range figures {
		t.Logf("%-18s %10.1f %-3s %6d runs", f.Name, f.Value, f.Unit, f.Runs)
	}
	if err != nil {
		t.Fatal(err)
	}
}
