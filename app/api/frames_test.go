package api

import (
	"testing"
	"time"
)

func TestAFrameIsTakenOnceAndInTime(t *testing.T) {
	var f frames
	id := f.mint()
	if len(id) != 32 || f.mint() == id {
		t.Errorf("the id is %q", id)
	}
	if f.take("") || f.take(id[:31]) || f.take("0"+id) {
		t.Error("another id was taken")
	}
	if !f.take(id) || f.take(id) {
		t.Error("it can be taken not at all, or twice")
	}
	late := f.mint()
	f.open[late] = time.Now().Add(-frameLife - time.Second)
	if f.take(late) {
		t.Errorf("it was taken after %v", frameLife)
	}
}

func TestFramesAreBounded(t *testing.T) {
	var f frames
	first := f.mint()
	f.open[first] = time.Now().Add(-time.Second)
	var last string
	for range maxFrames {
		last = f.mint()
	}
	if len(f.open) > maxFrames || f.take(first) || !f.take(last) {
		t.Errorf("%d are open; the oldest must have made room", len(f.open))
	}
	for id := range f.open {
		f.open[id] = time.Now().Add(-frameLife - time.Second)
	}
	if f.mint(); len(f.open) != 1 {
		t.Errorf("%d are open when all but one are too old", len(f.open))
	}
}
