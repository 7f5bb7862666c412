// Package capnweb is a peer of the Cap'n Web RPC protocol, version-compatible with the
// npm package capnweb 0.12.
//
// The model: both ends of a session own a table of exported objects and a table of
// imported ones. An object is a [Target]; a reference to an object, local or remote, is a
// [Stub]. Calling a stub gives a [Promise] at once; calls and property reads on a promise
// are sent without waiting for it (pipelining), and a promise may itself be passed as an
// argument. Whoever holds a stub can call it: a stub is a capability.
//
// Order: calls on one target are entered in the order in which they were sent, also
// through promises and through a stub of one session passed on to another (a proxy). One
// goroutine per session reads messages and enters methods, so a method must return
// quickly; long work returns a promise made by [Async] or [NewPromise].
//
// Ownership: stubs in arguments are disposed when the call ends, unless the method took a
// [Stub.Dup]; stubs in results belong to whoever receives them ([DisposeValue] drops all of
// a value at once). A method that returns a stub gives it away; return a Dup to keep it.
//
// Caveats: strings are UTF-8, so lone surrogates arrive as U+FFFD. Request and Response
// objects are refused with a rejection. Every limit of [Options] ends the session when the
// peer passes it.
package capnweb
