// Toolshed is a desktop program in which a person makes, uses and shares small private apps.
//
// This package only assembles: it picks the role of the process, wires the parts together and runs. There are two builds
// of it. toolshed (without cgo) is the command line, the browser mode, and the role of the sandboxed child;
// toolshed-window (build tag desktop) shows the window and starts its children from the toolshed beside it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"

	"toolshed/app"
	"toolshed/app/command"
	"toolshed/app/overseer"
	"toolshed/frontend"
	"toolshed/runtime/host"
)

// build is set by the linker. Both binaries of an installation have the same one; a child of another build is refused.
var build = ""

const childRole = "gadget-host"

// openWindow shows the window, showTrouble why there is none. They are nil in the build without a window (see window.go).
var (
	openWindow  func(context.Context, *app.Program, fs.FS) error
	showTrouble func(context.Context, *overseer.Problem) error
)

func main() {
	if app.GeneratingBindings {
		return
	}
	if len(os.Args) == 2 && os.Args[1] == childRole {
		os.Exit(host.ChildMain(buildID()))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once; what is stored stays whole
	os.Exit(command.Main(ctx, os.Args[1:], command.Environment{
		Stdout:      os.Stdout,
		Stderr:      os.Stderr,
		Build:       buildID(),
		Child:       childCommand,
		Page:        frontend.Dist,
		Log:         slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: logLevel()})),
		Window:      openWindow,
		Trouble:     showTrouble,
		OpenSibling: openSibling,
	}))
}

func logLevel() slog.Level {
	if os.Getenv("TOOLSHED_DEBUG") != "" {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// buildID is the linker's, else the revision that the Go tool noted, else a fixed name for a build of no revision.
func buildID() string {
	if build != "" {
		return build
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unversioned"
}

// sibling is the path of the program's other binary, which lies beside this one.
func sibling(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(filepath.Dir(self), name), nil
}

// childCommand starts the sandbox's role from the build without cgo: this binary, or the one beside the window's.
func childCommand() (*exec.Cmd, error) {
	path, err := os.Executable()
	if err == nil && openWindow != nil {
		path, err = sibling("toolshed")
	}
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return nil, fmt.Errorf("the program toolshed is missing beside the window's: install both together: %w", err)
	}
	return exec.Command(path, childRole), nil
}

// openSibling replaces this process by the build with a window. It returns only with the reason why it could not.
func openSibling(args []string) error {
	path, err := sibling("toolshed-window")
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return errors.New("toolshed-window is not installed beside toolshed")
	}
	if runtime.GOOS == "linux" && os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return errors.New("there is no display")
	}
	return app.ReplaceProcess(path, append([]string{path}, args...))
}
