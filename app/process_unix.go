//go:build unix

package app

import (
	"os"
	"syscall"
)

// ReplaceProcess makes this process run another program. It returns only if it could not.
func ReplaceProcess(path string, args []string) error { return syscall.Exec(path, args, os.Environ()) }
