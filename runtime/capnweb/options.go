package capnweb

// Options of a session. A zero field means its default. Every limit binds the peer: passing
// one ends the session with a fixed message.
type Options struct {
	// Name of the peer, for a host's own log; never sent.
	Name string

	MaxMessage int // bytes of one incoming message; default 32 MiB
	MaxDepth   int // nesting of values; default 256
	MaxExports int // objects and promises lent to the peer at a time; default 65,536
	MaxImports int // objects and promises the peer has lent at a time; default 65,536
	MaxCalls   int // calls of the peer not both finished and released; default 65,536
	MaxHeld    int // bytes of the messages of those calls; default 256 MiB
	MaxQueue   int // bytes that wait for a peer that does not read; default 64 MiB
	MaxBuffer  int // bytes of one incoming stream or blob held here; default 32 MiB
	MaxMap     int // values one map() may evaluate or copy; default 4,000,000

	// OnSendError sees every error on its way to the peer and may replace it; nil keeps it.
	// It must not use the session.
	OnSendError func(error) error
	// OnPanic hears of a panic of a Target; the caller gets a fixed error.
	OnPanic func(value any)
}

// Stats counts what is alive in a session. A fresh session has one export and one import,
// the main objects.
type Stats struct {
	Exports, Imports int
	Calls            int   // calls of the peer not both finished and released
	Sent, Received   int64 // messages
}

const (
	defaultMaxMessage = 32 << 20
	defaultMaxDepth   = 256
	defaultMaxTable   = 1 << 16
	defaultMaxQueue   = 64 << 20
	defaultMaxMap     = 4_000_000
	defaultMaxHeld    = 256 << 20
	maxBigIntDigits   = 16384
)

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	orDefault(&out.MaxMessage, defaultMaxMessage)
	orDefault(&out.MaxDepth, defaultMaxDepth)
	orDefault(&out.MaxExports, defaultMaxTable)
	orDefault(&out.MaxImports, defaultMaxTable)
	orDefault(&out.MaxCalls, defaultMaxTable)
	orDefault(&out.MaxHeld, defaultMaxHeld)
	orDefault(&out.MaxQueue, defaultMaxQueue)
	orDefault(&out.MaxBuffer, defaultMaxMessage)
	orDefault(&out.MaxMap, defaultMaxMap)
	return out
}

func orDefault(n *int, value int) {
	if *n <= 0 {
		*n = value
	}
}
