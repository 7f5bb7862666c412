// Package linear gives WebAssembly instances their linear memories.
//
// On Linux a memory is reserved whole and made accessible as it grows: its address never changes, nothing of it is on the Go
// heap, and a start image is mapped into it copy-on-write, so that instances share what none of them changes. Elsewhere a
// memory is on the Go heap and start images are copied by the caller.
//
// A Memory is what the runtime's memory allocator returns for one instance. The package knows nothing of engines.
package linear
