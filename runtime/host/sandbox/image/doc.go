// Package image keeps start images of code: what evaluating a gadget's code changed in the memory of an engine at rest.
//
// A start image is a list of pages. Laid over the engine's own image it gives an instance whose code was evaluated
// already. Where the system can, the pages stand in one arena, a file without a name that is made while the process may
// still make files, and every instance maps them privately; elsewhere they are copied. An image never changes, and goes
// only when nobody has it laid over its memory.
//
// The package knows nothing of engines and of what makes code fit for an image; package sandbox does.
package image
