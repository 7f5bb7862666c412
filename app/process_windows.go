package app

import (
	"errors"
	"os"
	"os/exec"
)

// ReplaceProcess runs another program in place of this one: Windows cannot replace a process, so this one waits and exits
// with the other's code. It returns only if the other could not be started.
func ReplaceProcess(path string, args []string) error {
	cmd := exec.Command(path, args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	os.Exit(cmd.ProcessState.ExitCode())
	return nil
}
