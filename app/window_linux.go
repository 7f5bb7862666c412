//go:build desktop

package app

// #include "window_linux.h"
import "C"

// endDialogs answers every dialog that is open with no.
func endDialogs() { C.window_end_dialogs() }

// downloadsFolder is the person's folder for what was downloaded, or nothing.
func downloadsFolder() string { return C.GoString(C.window_downloads()) }
