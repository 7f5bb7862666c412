//go:build desktop && !attack

package app

import (
	"context"
	"os"
)

// chosenLayers is every layer: nothing that a person or a gadget can set leaves one out.
func chosenLayers() int { return allLayers }

// closeInspector takes away the variables that would give whoever set them control of the web view.
func closeInspector() {
	os.Unsetenv("WEBKIT_INSPECTOR_SERVER")
	os.Unsetenv("WEBKIT_INSPECTOR_HTTP_SERVER")
}

// watchForged and noteOpen are for the attack test (layers_attack.go).
func watchForged(context.Context) {}
func noteOpen()                   {}
