// Package host runs gadgets in a sandbox: the kernel's half, which starts, feeds and stops a child process, and the
// child's half, which is the whole life of that process.
//
// Two walls stand around a gadget. The inner one is WebAssembly with fuel (runtime/fuel): compiled guest code calls
// back into Go so often that no gadget can hold its process up, and a turn that passes its hard deadline ends. The
// outer one is the process: when the engine is compiled the child gives away everything it could reach — files,
// sockets, other processes, its environment — and keeps two pipes to the kernel.
//
// A Child holds the gadgets of one workspace; an Instance is one running gadget in it. The kernel keeps the storage
// and the Cap'n Web session of every instance. The child runs one turn at a time for each instance and sends what the
// turn wrote and said in one frame; the kernel applies the writes and releases the messages and console lines only when
// they are durable, in order. An instance that fails ends with a *Failure; the other instances of its child go on. A child that
// dies or no longer answers is killed, and each of its instances ends with the kind "child".
//
// Package sandbox is the child's half, walls gives its privileges away, and wire is what both halves say to each other.
//
// Nothing that comes from a child is believed: frame sizes, turn sizes, queue lengths, console lines and Cap'n Web
// messages are all bounded on the kernel's side too.
package host
