package capnweb

// Options of a session. A zero field means its default. Every limit binds the peer: passing
// one ends the session with a fixed message, except that a map() too large, a value too large
// to be sent and a stream or blob too long only fail. For a peer that is not trusted set
// MaxHeld and the sizes of the tables much lower than the defaults.
type Options struct {
	// Name of the peer, for a host's own log; never sent.
	Name string

	MaxMessage int // bytes of one message, in and out; default 32 MiB
	MaxDepth   int // nesting of values; default 256
	MaxExports int // objects and promises lent to the peer at a time; default 65,536
	MaxImports int // objects and promises the peer has lent at a time; default 65,536
	MaxCalls   int // calls of the peer not both finished and released; default 65,536
	MaxHeld    int // bytes kept for the peer (see Stats.Held); default 256 MiB
	MaxQueue   int // bytes that wait for a peer that does not read; default 64 MiB
	MaxBuffer  int // bytes of one incoming stream or blob held here; default 32 MiB
	MaxMap     int // steps and values the map() of one message may take; default 100,000

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
	Held             int   // estimated bytes of messages, values, streams and blobs kept for the peer
	Sent, Received   int64 // messages
}

const (
	defaultMaxMessage = 32 << 20
	defaultMaxDepth   = 256
	defaultMaxTable   = 1 << 16
	defaultMaxQueue   = 64 << 20
	defaultMaxMap     = 100_000
	defaultMaxHeld    = 256 << 20
	maxBigIntDigits   = 16384
	maxPathParts      = 64
	maxPathBytes      = 4 << 10
	maxNameText       = 200       // bytes of a peer's name in an error text
	maxWork           = 64 << 20  // properties looked through and values copied for one message
	maxHops           = 64        // promises resolved to a promise, one inside the other
	maxValue          = 256 << 20 // estimated bytes of a value whose promises are substituted
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
