//go:build unix && !linux

package walls

import (
	"syscall"

	"toolshed/runtime/host/wire"
)

// limitResources allows no core file, no file to be written, and few descriptors.
func limitResources() wire.Wall {
	w := wire.Wall{Name: "resource limits"}
	for what, l := range map[int]syscall.Rlimit{syscall.RLIMIT_CORE: {}, syscall.RLIMIT_FSIZE: {},
		syscall.RLIMIT_NOFILE: {Cur: 16, Max: 16}} {
		if err := syscall.Setrlimit(what, &l); err != nil {
			w.Missing = err.Error()
		}
	}
	return w
}
