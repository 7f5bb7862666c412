// Package command is the command line: one file for each command.
//
// A command that reads or calls attaches to the Toolshed that is running on the data folder, or opens the folder for
// itself and closes it again. What a command prints with --json is part of the program's interface.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"time"

	"toolshed/app"
	"toolshed/app/overseer"
	"toolshed/app/profile"
)

// Exit codes, as `toolshed help` documents them.
const (
	exitOK      = 0
	exitFailed  = 1 // it was tried and failed
	exitUsage   = 2 // the command was not understood
	exitUnknown = 3 // no such workspace, gadget, method or blueprint
	exitData    = 4 // the data folder cannot be used: in use, damaged, read-only, full
	exitThrown  = 5 // the gadget answered with an error
)

// Environment is what the commands need of the process they run in.
type Environment struct {
	Stdout, Stderr io.Writer
	Build          string
	Child          func() (*exec.Cmd, error) // builds the command of the gadget-host role
	Page           func() (fs.FS, error)     // the built page
	Log            *slog.Logger
	// Window shows the window until it is closed. Nil: this build has none.
	Window func(ctx context.Context, p *app.Program, page fs.FS) error
	// Trouble shows in a window why the other one cannot open, until it is closed. Nil: this build has no window.
	Trouble func(ctx context.Context, p *overseer.Problem) error
	// OpenSibling replaces this process by the build with a window, if it stands beside this one and there is a display.
	// It returns only if it could not.
	OpenSibling func(args []string) error

	patience time.Duration // attachPatience if zero
}

// command is one command of the program.
type command struct {
	name    string
	usage   string // what follows the name
	summary string // one line for the list of commands
	run     func(context.Context, *invocation) error
	flags   func(*flag.FlagSet, *invocation)
}

func commands() []command {
	return []command{openCommand, serveCommand, newCommand, listCommand, callCommand, checkCommand, benchCommand, versionCommand}
}

// invocation is a command as it was called.
type invocation struct {
	Environment
	args []string
	json bool
	data string

	blueprint, title, workspace string // new
	port                        int    // serve
	only, modules               string // bench
	side                        int
}

// usageError is a command that was not understood.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

// Main runs the command that args name and returns the exit code.
func Main(ctx context.Context, args []string, env Environment) int {
	name, args := split(args)
	switch name {
	case "help", "-h", "--help":
		printHelp(env.Stdout)
		return exitOK
	}
	for _, c := range commands() {
		if c.name == name {
			return c.execute(ctx, args, env)
		}
	}
	fmt.Fprintf(env.Stderr, "toolshed: there is no command %q. `toolshed help` lists those there are.\n", name)
	return exitUsage
}

// split finds the command among the arguments: the first that is not a flag that every command has, else openCommand.
func split(args []string) (name string, rest []string) {
	flags := new(invocation).commonFlags(openCommand.name)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return "help", nil
	case err != nil:
		return openCommand.name, args
	}
	n := len(args) - flags.NArg()
	if n == len(args) || strings.HasPrefix(args[n], "-") {
		return openCommand.name, args
	}
	return args[n], slices.Concat(args[:n], args[n+1:])
}

func (call *invocation) commonFlags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	flags.BoolVar(&call.json, "json", false, "print JSON")
	flags.StringVar(&call.data, "data", "", "the data `folder` (or TOOLSHED_DATA)")
	return flags
}

func (c command) execute(ctx context.Context, args []string, env Environment) int {
	call := &invocation{Environment: env}
	if call.patience == 0 {
		call.patience = attachPatience
	}
	flags := call.commonFlags(c.name)
	if c.flags != nil {
		c.flags(flags, call)
	}
	args, err := parse(flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		c.printHelp(env.Stdout, flags)
		return exitOK
	case err != nil:
		fmt.Fprintf(env.Stderr, "toolshed %s: %v. `toolshed %s --help` says what it takes.\n", c.name, err, c.name)
		return exitUsage
	}
	call.args = args
	if call.data == "" {
		if call.data, err = profile.DefaultFolder(); err != nil {
			return call.fail(c.name, err)
		}
	}
	if err := c.run(ctx, call); err != nil {
		return call.fail(c.name, err)
	}
	return exitOK
}

// parse takes flags from anywhere among the arguments; what follows "--" are arguments, whatever they look like, and so is
// a negative number.
func parse(flags *flag.FlagSet, args []string) ([]string, error) {
	var after []string
	if i := slices.Index(args, "--"); i >= 0 {
		args, after = args[:i], args[i+1:]
	}
	var rest []string
	for len(args) > 0 {
		if !isNumber(args[0]) {
			if err := flags.Parse(args); err != nil {
				return nil, err
			}
			args = flags.Args()
		}
		if len(args) > 0 {
			rest = append(rest, args[0])
			args = args[1:]
		}
	}
	return append(rest, after...), nil
}

func isNumber(arg string) bool {
	return len(arg) > 1 && arg[0] == '-' && arg[1] >= '0' && arg[1] <= '9'
}

// fail prints the error as a person, or with --json a program, is told of it, and returns the exit code for it.
func (call *invocation) fail(name string, err error) int {
	var usage *usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(call.Stderr, "toolshed %s: %s\n", name, usage.text)
		return exitUsage
	}
	if errors.Is(err, errReported) {
		return exitFailed
	}
	p := explain(err)
	if call.json {
		call.print(map[string]any{"error": p})
	} else {
		printProblem(call.Stderr, p)
	}
	switch p.Kind {
	case "no-workspace", "no-gadget-here", "no-blueprint", "ambiguous", "no-method":
		return exitUnknown
	case "in-use", "silent", "damaged", "read-only", "full", "newer", "folder":
		return exitData
	case "thrown":
		return exitThrown
	}
	return exitFailed
}

func printProblem(w io.Writer, p *overseer.Problem) {
	fmt.Fprintf(w, "toolshed: %s\n", p.What)
	if p.Why != "" {
		fmt.Fprintf(w, "  Why: %s.\n", strings.TrimSuffix(p.Why, "."))
	}
	if p.Todo != "" {
		fmt.Fprintf(w, "  What to do: %s\n", p.Todo)
	}
}

// print writes v as indented JSON.
func (call *invocation) print(v any) {
	e := json.NewEncoder(call.Stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // a reader that has gone needs no answer
}

func printHelp(w io.Writer) {
	fmt.Fprint(w, "Toolshed makes, runs and shares small private apps on this computer.\n\nUsage: toolshed [command] [--data FOLDER] [--json]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-34s %s\n", strings.TrimSpace(c.name+" "+c.usage), c.summary)
	}
	fmt.Fprint(w, `
Without a command the window opens. `+"`toolshed COMMAND --help`"+` says more about one.
The data folder is --data, else TOOLSHED_DATA, else the system's place for programs' data.

Exit codes: 0 done; 1 failed; 2 not understood; 3 no such workspace, gadget, method or
blueprint; 4 the data folder cannot be used; 5 the gadget answered with an error.
`)
}

func (c command) printHelp(w io.Writer, flags *flag.FlagSet) {
	fmt.Fprintf(w, "Usage: toolshed %s\n\n%s\n\n", strings.TrimSpace(c.name+" "+c.usage), c.summary)
	flags.SetOutput(w)
	flags.PrintDefaults()
}
