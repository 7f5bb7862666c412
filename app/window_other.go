//go:build desktop && !linux

package app

import (
	"os"
	"path/filepath"
)

// The window is not opened on these systems yet (see harden_other.go), so what it remembers is not applied there either.
func watchWindow(*Desktop) {}
func zoomWindow(int)       {}
func toggleFullScreen()    {}

// endDialogs has nothing to do: the window library ends its dialogs with the window.
func endDialogs() {}

func downloadsFolder() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, "Downloads")
}
