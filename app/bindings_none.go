//go:build !bindings

package app

// GeneratingBindings is true only in the program that `wails build` runs (bindings.go).
const GeneratingBindings = false
