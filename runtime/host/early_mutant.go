//go:build mutant

package host

// answersEarly lets a turn's messages leave before its writes are durable.
const answersEarly = true
