//go:build !linux

package app

import "net"

// sameUser relies on the modes of the socket and its folder, where the system cannot name the user at the other end.
func sameUser(net.Conn) error { return nil }
