//go:build desktop && !linux

package app

import (
	"fmt"
	"os"
	"runtime"
)

const allLayers = 0

// harden ends the program: the layers are written for WebKitGTK, and a window without them is not shown. `toolshed serve`
// works on every system.
func harden(int) <-chan struct{} {
	fmt.Fprintf(os.Stderr, "toolshed: the window is not made safe on %s yet and will not open. Use `toolshed serve`.\n", runtime.GOOS)
	os.Exit(70)
	return nil
}

func rejectedMessages() int { return 0 }
