//go:build !linux

package command

import (
	"os"
	"testing"
)

func smallDisk(t *testing.T, size string) string {
	t.Skip("mounting a small disk is written for Linux only")
	return ""
}

func readOnly(*testing.T, string, bool) {}

func stop(t *testing.T, p *os.Process) { t.Skip("stopping a process is written for Linux only") }
func goOn(*testing.T, *os.Process)     {}
