package host

import (
	"io"
	"os"
	"os/exec"
	"syscall"

	"toolshed/runtime/host/wire"
)

// launch starts the child with its standard input and output as the two directions of the link: this system hands
// down no other descriptors.
func launch(command func() (*exec.Cmd, error)) (io.ReadWriteCloser, *exec.Cmd, Wall, error) {
	cmd, err := command()
	if err != nil {
		return nil, nil, Wall{}, err
	}
	cmd.Env = []string{"SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, nil, nil
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, Wall{}, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, Wall{}, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, Wall{}, err
	}
	return wire.Duplex{ReadCloser: out, Writer: in}, cmd, Wall{Name: "network namespace", Missing: "this system has none"}, nil
}
