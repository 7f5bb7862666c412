//go:build bindings

package app

// GeneratingBindings says that this is the program that `wails build` makes and runs to learn what is bound to the page. The
// page needs no generated bindings, so main does nothing then: it must take no lock and open nothing.
const GeneratingBindings = true
