package host

import (
	"errors"
	"log/slog"
	"os/exec"
	"time"

	"toolshed/runtime/capnweb"
	"toolshed/runtime/host/sandbox"
	"toolshed/runtime/host/wire"
	"toolshed/runtime/storage"
)

// Config says how to start a child.
type Config struct {
	// Command builds the command of the gadget-host role. StartChild replaces its environment by an empty one, its
	// standard streams by the null device, and adds the ends of two pipes as descriptors 3 and 4.
	Command func() (*exec.Cmd, error)
	// Build must equal the build the child was made from; another one is refused.
	Build string
	// CacheDir keeps the compiled engine between starts; empty compiles it anew each time. Only trusted code is ever
	// written to it, and no child can reach it once a gadget runs.
	CacheDir string
	// Log gets the life of the child (not the gadgets' consoles). Nil: slog.Default.
	Log *slog.Logger

	// NoImage starts every instance by initialising the engine anew instead of from the prelude's start image.
	NoImage bool
	// CopyImage copies the start image into each instance where it could be mapped.
	CopyImage bool
	// Refill is the fuel between two ticks; zero is the measured default.
	Refill int32
	// noInterrupt leaves the JavaScript interrupt handler off, so that only fuel ends a turn (for measuring).
	noInterrupt bool
}

// Limits bound one instance.
type Limits = wire.Limits

// Walls are the measures that keep a child apart from the system, and Wall is one of them.
type (
	Walls = wire.Walls
	Wall  = wire.Wall
)

// Attempt is one thing that a child without privileges must be refused.
type Attempt = wire.Attempt

// Failure is why an instance could not start or ended.
type Failure = wire.Failure

// Line is one line of a gadget's console.
type Line struct {
	Level string // debug, log, info, warn or error
	Text  string // at most 8 KiB
	Time  time.Time
}

// Spec describes the instance to start.
type Spec struct {
	ID       string            // the gadget's id, as it sees it
	Files    map[string][]byte // the server half; the entry is server.js
	Bindings []string          // names in env
	Env      any               // the guest's main capability (capnweb.Target or *capnweb.Stub): a property for each binding
	Storage  Storage           // owned by the caller, used until the instance is done
	Limits   Limits
	Console  func(Line) // one call at a time; a line comes once its turn is durable or lost; must return quickly and not close the instance; may be nil
	// SendError makes what the guest is told of an error that is not of its own side\'s making. Nil: that the call failed.
	SendError func(error) error
}

// sendError passes on what the other side of a call threw, and hides what went wrong here.
func (s *Spec) sendError(err error) error {
	var thrown *capnweb.Error
	var value *capnweb.Thrown
	switch {
	case errors.As(err, &thrown), errors.As(err, &value):
		return err
	case s.SendError != nil:
		return s.SendError(err)
	}
	return &capnweb.Error{Name: "Error", Message: "The call failed."}
}

// Storage is what an instance needs of its gadget's store. *storage.Store is one.
type Storage interface {
	Get(key string) ([]byte, bool, error)
	List(storage.ListOptions) ([]storage.Entry, error)
	Alarm() (storage.Alarm, error)
	Apply(storage.Turn, []byte) *storage.Commit
}

// The kinds of Failure; package wire says what each means.
const (
	KindSyntax   = wire.KindSyntax
	KindNoGadget = wire.KindNoGadget
	KindStart    = wire.KindStart
	KindCPU      = wire.KindCPU
	KindMemory   = wire.KindMemory
	KindStack    = wire.KindStack
	KindStorage  = wire.KindStorage
	KindQuota    = wire.KindQuota
	KindProtocol = wire.KindProtocol
	KindTrap     = wire.KindTrap
	KindChild    = wire.KindChild
	KindClosed   = wire.KindClosed
)

// ChildMain is the whole life of the gadget-host role and returns the process's exit code; see package sandbox. The
// build must equal the kernel's.
func ChildMain(build string) int { return sandbox.Main(build, sandbox.Options{}) }
