package app

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// sameUser refuses a client that runs as somebody else, whatever the modes of the socket and its folder say.
func sameUser(conn net.Conn) error {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if credErr != nil {
		return credErr
	}
	if int(cred.Uid) != os.Getuid() {
		return fmt.Errorf("it runs as user %d", cred.Uid)
	}
	return nil
}
