package linear

import (
	"slices"
	"testing"

	"toolshed/runtime/host/sandbox/image"
)

// What one instance alone has changed is not copied for others, and later ones teach nothing.
func TestOnlyWhatAllHaveChangedIsWarm(t *testing.T) {
	var w warmth
	if w.pages() != nil {
		t.Error("pages are known before the first instance")
	}
	asked := 0
	teach := func(runs ...image.Run) {
		w.learn(func() []image.Run { asked++; return runs })
	}
	teach(image.Run{Page: 1, Pages: 4}, image.Run{Page: 9, Pages: 1})
	teach(image.Run{Page: 0, Pages: 3}, image.Run{Page: 4, Pages: 6})
	want := []image.Run{{Page: 1, Pages: 2}, {Page: 4, Pages: 1}, {Page: 9, Pages: 1}}
	for range 2 * maxLessons {
		teach(want...)
	}
	if got := w.pages(); !slices.Equal(got, want) || asked != maxLessons {
		t.Errorf("%v after %d instances", got, asked)
	}
}

// A first gadget that fills its memory does not make each later one do so.
func TestMuchIsNotWarm(t *testing.T) {
	var w warmth
	w.learn(func() []image.Run { return []image.Run{{Page: 0, Pages: maxWarm}, {Page: 5000, Pages: 1}} })
	if w.pages() != nil {
		t.Error("more than the bound is copied")
	}
	w.learn(func() []image.Run { return []image.Run{{Page: 3, Pages: 2}} })
	if got := w.pages(); !slices.Equal(got, []image.Run{{Page: 3, Pages: 2}}) {
		t.Errorf("%v", got)
	}
}
