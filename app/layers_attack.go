//go:build desktop && attack

package app

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/wailsapp/wails/v2/pkg/runtime"
)

// chosenLayers lets the attack test leave layers out, to show that what they stop would happen without them. This file is
// in no build that is given to anybody: the tag attack is set by build/window-test.sh alone.
func chosenLayers() int {
	text, set := os.LookupEnv("TOOLSHED_LAYERS")
	if !set {
		return allLayers
	}
	layers, err := strconv.Atoi(text)
	if err != nil {
		fmt.Fprintln(os.Stderr, "toolshed: TOOLSHED_LAYERS is a number:", err)
		os.Exit(2)
	}
	return layers
}

// closeInspector leaves the inspector to the test, which drives the window through it.
func closeInspector() {}

// watchForged says on standard error when something that only a forged message can cause has happened.
func watchForged(window context.Context) {
	runtime.EventsOn(window, "forged", func(data ...any) { fmt.Fprintln(os.Stderr, "attack: event", data) })
}

// noteOpen says on standard error that the pipe was opened: once by the page itself, and by nobody else.
func noteOpen() { fmt.Fprintln(os.Stderr, "attack: pipe opened") }
