//go:build linux && !amd64

package walls

var archCalls []string
