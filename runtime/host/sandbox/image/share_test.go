package image

import (
	"math/rand/v2"
	"testing"
)

func set(runs []Run, pages int) []bool {
	in := make([]bool, pages)
	for _, r := range runs {
		for k := range r.Pages {
			in[r.Page+k] = true
		}
	}
	return in
}

// Changed and Common are what they would be page by page, in order and without empty runs.
func TestChangedAndCommon(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	check := func(what string, runs []Run, want func(page int) bool, pages int) {
		t.Helper()
		end := uint32(0)
		for _, r := range runs {
			if r.Pages == 0 || r.Page < end {
				t.Fatalf("%s: the runs are not in order: %v", what, runs)
			}
			end = r.Page + r.Pages
		}
		for page, in := range set(runs, pages+1) {
			if in != (page < pages && want(page)) {
				t.Fatalf("%s: page %d: %v in %v", what, page, in, runs)
			}
		}
	}
	for range 500 {
		base, now := make([]byte, PageSize*rnd.IntN(12)), make([]byte, PageSize*rnd.IntN(14))
		for range rnd.IntN(8) {
			if len(now) > 0 {
				now[rnd.IntN(len(now))] = 1
			}
		}
		pages := min(len(base), len(now)) / PageSize
		a := Changed(base, nil, now)
		differs := func(page int) bool { return [PageSize]byte(now[page*PageSize:]) != [PageSize]byte{} }
		check("changed", a, differs, pages)
		other := make([]byte, len(now))
		for page := range len(other) / PageSize {
			other[page*PageSize] = byte(rnd.IntN(2))
		}
		b := Changed(base, nil, other)
		check("common", Common(a, b), func(page int) bool { return differs(page) && other[page*PageSize] != 0 }, pages)
	}
}
