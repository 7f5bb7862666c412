//go:build desktop

package app

// #include "window_linux.h"
import "C"

import (
	"image"
	"sync/atomic"
	"unsafe"
)

// theDesktop is the one that GTK's signals are for: they are C functions, which hold no Go value.
var theDesktop atomic.Pointer[Desktop]

// watchWindow puts the window where it stood, and tells d what happens to it from then on. Called before the window is made.
func watchWindow(d *Desktop) {
	theDesktop.Store(d)
	C.window_begin(leastWidth, leastHeight)
}

//export windowBeginsFromC
func windowBeginsFromC(numbers *C.int, n C.int) {
	p := theDesktop.Load().begins(screensFrom(numbers, n))
	maximised := C.int(0)
	if p.Maximised {
		maximised = 1
	}
	C.window_place(C.int(p.X), C.int(p.Y), C.int(p.Width), C.int(p.Height), maximised)
}

//export windowStandsFromC
func windowStandsFromC(x, y, width, height, maximised C.int, numbers *C.int, n C.int) {
	theDesktop.Load().stands(place{int(x), int(y), int(width), int(height), maximised != 0}, screensFrom(numbers, n))
}

// Remembering waits for the disk, which the main thread must not.
//
//export windowCommandFromC
func windowCommandFromC(command C.int) {
	d := theDesktop.Load()
	switch command {
	case C.COMMAND_ZOOM_IN:
		go d.Zoom(1)
	case C.COMMAND_ZOOM_OUT:
		go d.Zoom(-1)
	case C.COMMAND_ZOOM_USUAL:
		go d.Zoom(0)
	case C.COMMAND_FULL_SCREEN:
		d.FullScreen()
	}
}

func screensFrom(numbers *C.int, n C.int) []image.Rectangle {
	var out []image.Rectangle
	for four := unsafe.Slice(numbers, 4*n); len(four) > 0; four = four[4:] {
		x, y := int(four[0]), int(four[1])
		out = append(out, image.Rect(x, y, x+int(four[2]), y+int(four[3])))
	}
	return out
}

func zoomWindow(perCent int) { C.window_zoom(C.int(perCent)) }

// toggleFullScreen lets the window fill the screen, or no longer.
func toggleFullScreen() { C.window_toggle_full_screen() }

// endDialogs answers every dialog that is open with no.
func endDialogs() { C.window_end_dialogs() }

// downloadsFolder is the person's folder for what was downloaded, or nothing.
func downloadsFolder() string { return C.GoString(C.window_downloads()) }
