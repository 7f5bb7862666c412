//go:build desktop && !linux

package app

import (
	"os"
	"path/filepath"
)

// endDialogs has nothing to do: the window library ends its dialogs with the window.
func endDialogs() {}

func downloadsFolder() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, "Downloads")
}
