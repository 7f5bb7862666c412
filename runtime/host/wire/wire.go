package wire

import "time"

// Limits bound one instance. A zero field means its default.
type Limits struct {
	Memory int64         // bytes of linear memory; default 64 MiB
	Soft   time.Duration // run time after which a turn is interrupted and the instance lives on; default 2 s
	Hard   time.Duration // run time after which the instance is discarded; default Soft + 1 s
}

// The kinds of Failure.
const (
	KindSyntax   = "syntax"    // a file of the gadget does not parse, or an import cannot be resolved
	KindNoGadget = "no-gadget" // server.js exports no class named Gadget
	KindStart    = "start"     // evaluating server.js or the constructor threw
	KindCPU      = "cpu"       // a turn passed its hard deadline
	KindMemory   = "memory"    // the memory limit was passed
	KindStack    = "stack"     // the WebAssembly stack overflowed
	KindStorage  = "storage"   // a turn could not be committed
	KindQuota    = "quota"     // a turn would have passed the storage's limit
	KindProtocol = "protocol"  // a bound of the protocol was passed
	KindTrap     = "trap"      // the guest trapped
	KindChild    = "child"     // the child process died or was killed
	KindClosed   = "closed"    // the instance or its child was closed
)

// Failure is why an instance could not start or ended.
type Failure struct {
	Kind    string // one of the Kind constants
	Message string // for a person; holds text of the gadget's making where Kind is syntax, no-gadget or start
	Suspect bool   // of KindChild: it happened while a turn of this gadget ran, so that it may be the gadget's doing
}

// Fail makes a Failure.
func Fail(kind, message string) *Failure { return &Failure{Kind: kind, Message: message} }

// Error returns the message with its kind.
func (f *Failure) Error() string { return "gadget " + f.Kind + ": " + f.Message }

// Walls are the measures that keep a child apart from the system.
type Walls []Wall

// Wall is one measure; Missing says why it could not be had, and is empty if it stands.
type Wall struct{ Name, Missing string }

// Attempt is one thing that a child without privileges must be refused.
type Attempt struct {
	Name    string
	Refused bool
	Detail  string // the error, or what was got
}

// PackAttempts makes a Report.
func PackAttempts(attempts []Attempt) []byte {
	p := Pack(Report, 0).Uint(uint64(len(attempts)))
	for _, a := range attempts {
		p.Text(a.Name).Bool(a.Refused).Text(Clip(a.Detail, MaxReport/MaxAttempts/2))
	}
	return p.Done()
}

// UnpackAttempts reads a Report's body.
func UnpackAttempts(b []byte) ([]Attempt, error) {
	if len(b) > MaxReport {
		return nil, ErrFrame
	}
	u := &Unpacker{B: b}
	var out []Attempt
	for n := u.CountOf(3, MaxAttempts); n > 0; n-- {
		out = append(out, Attempt{u.Text(), u.Bool(), u.Text()})
	}
	if !u.End() {
		return nil, ErrFrame
	}
	return out, nil
}
