//go:build !mutant

package host

// answersEarly is true only in the build that the kill test must find fault with.
const answersEarly = false
