//go:build unix

package wire

import (
	"io"
	"os"
	"syscall"
)

// writeNow returns a function that writes as much as the system takes without waiting, and returns the rest. An error
// leaves the rest too: whoever writes it meets the error again. It is nil for anything but a file in the poller.
func writeNow(w io.Writer) func([]byte) []byte {
	if d, ok := w.(Duplex); ok {
		w = d.Writer
	}
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	return func(b []byte) []byte {
		_ = raw.Write(func(fd uintptr) bool {
			if n, err := syscall.Write(int(fd), b); err == nil {
				b = b[n:]
			}
			return true // never wait
		})
		return b
	}
}
