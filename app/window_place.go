package app

import (
	"fmt"
	"image"
	"slices"
	"strings"
)

// The window's size where nothing is remembered, the least it has, and how much of its upper edge a screen must show for a
// person to take hold of it.
const (
	usualWidth, usualHeight = 1280, 820
	leastWidth, leastHeight = 480, 360
	gripWidth, gripHeight   = 120, 24
	maxLayouts              = 16      // arrangements of screens that are remembered
	farthest                = 100_000 // no screen is farther away than this many pixels
)

// place is where the window stands when it is not maximised, and whether it is. Screens and places are in GTK's pixels.
type place struct {
	X         int  `json:"x"`
	Y         int  `json:"y"`
	Width     int  `json:"width"`
	Height    int  `json:"height"`
	Maximised bool `json:"maximised,omitempty"`
}

func (p place) rectangle() image.Rectangle { return image.Rect(p.X, p.Y, p.X+p.Width, p.Y+p.Height) }

// layoutOf names an arrangement of screens, whatever their order.
func layoutOf(screens []image.Rectangle) string {
	var names []string
	for _, s := range screens {
		names = append(names, fmt.Sprintf("%dx%d%+d%+d", s.Dx(), s.Dy(), s.Min.X, s.Min.Y))
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// placeFor is where the window goes on these screens, the first of which is the main one: where it stood on them before;
// else of the size it had last, in the middle of the main one.
func (r *remembered) placeFor(screens []image.Rectangle) place {
	if p, known := r.Places[layoutOf(screens)]; known {
		return fit(p, screens)
	}
	p := place{X: -farthest, Y: -farthest, Width: usualWidth, Height: usualHeight}
	if r.Last != nil {
		p.Width, p.Height, p.Maximised = r.Last.Width, r.Last.Height, r.Last.Maximised
	}
	return fit(p, screens)
}

// stand remembers where the window stands on these screens.
func (r *remembered) stand(p place, screens []image.Rectangle) {
	places := map[string]place{layoutOf(screens): p}
	for layout, before := range r.Places { // a new map: the old one may be being read
		if _, now := places[layout]; !now && len(places) < maxLayouts {
			places[layout] = before
		}
	}
	r.Places, r.Last = places, &p
}

// fit gives a place, whatever stands in it, a size that its screen has room for, and moves it so that all of it is on that
// screen. A place that no screen shows enough of goes to the middle of the first.
func fit(p place, screens []image.Rectangle) place {
	if len(screens) == 0 {
		screens = []image.Rectangle{image.Rect(0, 0, usualWidth, usualHeight)}
	}
	p.X, p.Y = min(max(p.X, -farthest), farthest), min(max(p.Y, -farthest), farthest)
	p.Width, p.Height = min(max(p.Width, leastWidth), farthest), min(max(p.Height, leastHeight), farthest)
	on, shown := screens[0], 0
	grip := image.Rect(p.X, p.Y, p.X+p.Width, p.Y+gripHeight)
	for _, s := range screens {
		if part := s.Intersect(grip); part.Dx() >= gripWidth && part.Dy() >= gripHeight/2 && part.Dx() > shown {
			on, shown = s, part.Dx()
		}
	}
	p.Width, p.Height = min(p.Width, on.Dx()), min(p.Height, on.Dy())
	if shown == 0 {
		p.X, p.Y = on.Min.X+(on.Dx()-p.Width)/2, on.Min.Y+(on.Dy()-p.Height)/2
		return p
	}
	p.X = min(max(p.X, on.Min.X), on.Max.X-p.Width)
	p.Y = min(max(p.Y, on.Min.Y), on.Max.Y-p.Height)
	return p
}

// zooms are the steps in which the window's page is made larger and smaller, in per cent.
var zooms = []int{50, 67, 80, 90, 100, 110, 125, 150, 175, 200, 250, 300}

const usualZoom = 100

// zoomed is the next step from now: larger if by is positive, smaller if it is negative, the usual one if it is 0.
func zoomed(now, by int) int {
	next := usualZoom
	switch {
	case by > 0:
		next = zooms[len(zooms)-1]
		if i := slices.IndexFunc(zooms, func(z int) bool { return z > now }); i >= 0 {
			next = zooms[i]
		}
	case by < 0:
		next = zooms[0]
		for _, z := range zooms {
			if z < now {
				next = z
			}
		}
	}
	return next
}

// zoom is what is remembered of it, or the usual one where that is none.
func (r *remembered) zoom() int {
	if slices.Contains(zooms, r.Zoom) {
		return r.Zoom
	}
	return usualZoom
}
