package app

import (
	"encoding/json"
	"image"
	"math"
	"testing"

	"pgregory.net/rapid"
)

var laptop, beside, above = image.Rect(0, 0, 1920, 1040), image.Rect(1920, 0, 4480, 1440), image.Rect(0, -1200, 1920, 0)

func TestTheWindowGoesBackToItsPlace(t *testing.T) {
	var r remembered
	if got, want := r.placeFor([]image.Rectangle{laptop}), (place{X: 320, Y: 110, Width: 1280, Height: 820}); got != want {
		t.Errorf("the first time: %+v", got)
	}
	both, one := []image.Rectangle{laptop, beside}, []image.Rectangle{laptop}
	onBoth, onOne := place{X: 2000, Y: 100, Width: 1400, Height: 1300, Maximised: true}, place{X: 10, Y: 20, Width: 700, Height: 500}
	r.stand(onBoth, both)
	if got := r.placeFor([]image.Rectangle{beside, laptop}); got != onBoth {
		t.Errorf("on the same screens: %+v", got)
	}
	if got, want := r.placeFor(one), (place{X: 260, Y: 0, Width: 1400, Height: 1040, Maximised: true}); got != want {
		t.Errorf("on a screen it was never on: %+v", got)
	}
	r.stand(onOne, one)
	if a, b := r.placeFor(one), r.placeFor(both); a != onOne || b != onBoth {
		t.Errorf("each arrangement of screens has its own place: %+v %+v", a, b)
	}
	for n := range 100 {
		r.stand(onOne, []image.Rectangle{image.Rect(0, 0, 1000+n, 1000)})
	}
	if len(r.Places) != maxLayouts {
		t.Errorf("it remembers %d arrangements", len(r.Places))
	}
}

func TestAPlaceOffTheScreensComesBack(t *testing.T) {
	screens := []image.Rectangle{laptop, above}
	for name, c := range map[string]struct{ from, want place }{
		"between two":       {place{X: 100, Y: -50, Width: 800, Height: 600}, place{X: 100, Y: -600, Width: 800, Height: 600}},
		"over the right":    {place{X: 1500, Y: 10, Width: 800, Height: 600}, place{X: 1120, Y: 10, Width: 800, Height: 600}},
		"just out of reach": {place{X: 1900, Y: 10, Width: 800, Height: 600}, place{X: 560, Y: 220, Width: 800, Height: 600}},
		"tiny":              {place{X: 5, Y: 5, Width: 1, Height: -7}, place{X: 5, Y: 5, Width: 480, Height: 360}},
		"huge":              {place{Width: math.MaxInt, Height: math.MaxInt}, place{Width: 1920, Height: 1040}},
		"far":               {place{X: math.MinInt, Y: math.MaxInt, Width: 600, Height: 400}, place{X: 660, Y: 320, Width: 600, Height: 400}},
		"nothing":           {place{}, place{Width: 480, Height: 360}},
	} {
		if got := fit(c.from, screens); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := fit(place{}, nil); got.Width < leastWidth {
		t.Errorf("with no screen: %+v", got)
	}
}

// Whatever stands in the file, the window is on a screen, and going back there again changes nothing.
func TestEveryPlaceIsOnAScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		screens := rapid.SampledFrom([][]image.Rectangle{{laptop}, {beside, laptop}, {laptop, above, beside}}).Draw(t, "screens")
		p := place{X: rapid.Int().Draw(t, "x"), Y: rapid.Int().Draw(t, "y"), Width: rapid.Int().Draw(t, "w"), Height: rapid.Int().Draw(t, "h")}
		if rapid.Bool().Draw(t, "near") {
			p = place{rapid.IntRange(-3_000, 5_000).Draw(t, "x"), rapid.IntRange(-3_000, 3_000).Draw(t, "y"), rapid.IntRange(0, 5_000).Draw(t, "w"), rapid.IntRange(0, 3_000).Draw(t, "h"), false}
		}
		got := fit(p, screens)
		inside := false
		for _, s := range screens {
			inside = inside || got.rectangle().In(s)
		}
		if !inside || fit(got, screens) != got || got.Width < leastWidth || got.Height < leastHeight {
			t.Fatalf("%+v became %+v", p, got)
		}
	})
}

func TestZoomGoesInSteps(t *testing.T) {
	var seen []int
	at := 50
	for range len(zooms) + 3 {
		seen = append(seen, at)
		at = zoomed(at, 1)
	}
	for range len(zooms) + 3 {
		at = zoomed(at, -1)
	}
	if seen[4] != 100 || seen[len(seen)-1] != 300 || at != 50 || zoomed(175, 0) != 100 || zoomed(101, 1) != 110 || zoomed(99, -1) != 90 {
		t.Errorf("up: %v, down to %d", seen, at)
	}
	for text, want := range map[string]int{`{}`: 100, `{"zoom":125}`: 125, `{"zoom":-5}`: 100, `{"zoom":1000000}`: 100} {
		var r remembered
		if err := json.Unmarshal([]byte(text), &r); err != nil || r.zoom() != want {
			t.Errorf("%s: %d %v", text, r.zoom(), err)
		}
	}
}
