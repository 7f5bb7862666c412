//go:build unix

package host

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"

	"toolshed/runtime/host/wire"
)

// launch starts the child with the ends of two new pipes, to read from descriptor 3 and to write to descriptor 4, and
// returns the others. Where the system lets it, the child gets namespaces of its own without a network and without other processes; if not, it is
// started without them.
func launch(command func() (*exec.Cmd, error)) (io.ReadWriteCloser, *exec.Cmd, Wall, error) {
	space := Wall{Name: "network namespace"}
	var err error
	for _, attr := range processAttributes() {
		var link io.ReadWriteCloser
		var cmd *exec.Cmd
		link, cmd, err = launchWith(command, attr)
		if err == nil {
			return link, cmd, space, nil
		}
		space.Missing = err.Error()
		if !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOSPC) &&
			!errors.Is(err, syscall.EACCES) {
			break
		}
	}
	return nil, nil, space, err
}

func launchWith(command func() (*exec.Cmd, error), attr *syscall.SysProcAttr) (io.ReadWriteCloser, *exec.Cmd, error) {
	cmd, err := command()
	if err != nil {
		return nil, nil, err
	}
	toRead, down, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer toRead.Close()
	up, toWrite, err := os.Pipe()
	if err != nil {
		down.Close()
		return nil, nil, err
	}
	defer toWrite.Close()
	ours := wire.Duplex{ReadCloser: up, Writer: down}
	cmd.Env = []string{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, nil, nil
	cmd.ExtraFiles = []*os.File{toRead, toWrite}
	cmd.Dir = "/"
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, nil, err
	}
	offer(cmd.Process.Pid)
	return ours, cmd, nil
}
