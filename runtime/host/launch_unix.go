//go:build unix

package host

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// launch starts the child with one end of a new socketpair as descriptor 3 and returns the other end. Where the
// system lets it, the child gets namespaces of its own without a network and without other processes; if not, it is
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
	syscall.ForkLock.RLock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "gadget host")
	defer theirs.Close()
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		return nil, nil, err
	}
	ours := os.NewFile(uintptr(fds[0]), "kernel") // non-blocking: reads wait in the poller and Close ends them
	cmd.Env = []string{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, nil, nil
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Dir = "/"
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, nil, err
	}
	offer(cmd.Process.Pid)
	return ours, cmd, nil
}
