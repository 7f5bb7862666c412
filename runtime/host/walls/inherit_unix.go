//go:build unix

package walls

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"toolshed/runtime/host/wire"
)

// Inherited opens the child's ends of the link; every other descriptor that came along is closed. Reads wait in the system,
// not in the runtime's poller: there is one reader, and it is woken with a third of the switches. Writes must be able to
// take what fits and leave the rest.
func Inherited() (io.ReadWriteCloser, error) {
	if unix.SetNonblock(3, false) != nil || unix.SetNonblock(4, true) != nil {
		return nil, errors.New("the gadget host is started by the program itself, with pipes as descriptors 3 and 4")
	}
	closeOthers()
	return wire.Duplex{ReadCloser: os.NewFile(3, "from the kernel"), Writer: os.NewFile(4, "to the kernel")}, nil
}
