package host

import (
	"os"
	"syscall"
)

// processAttributes are the ways to start a child, the strongest first. The user namespace is what lets a person
// without privileges make the others. (A process namespace would take /proc/self away, which restricting every thread
// at once needs.)
func processAttributes() []*syscall.SysProcAttr {
	strong := &syscall.SysProcAttr{
		Pdeathsig:   syscall.SIGKILL,
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 65534, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 65534, HostID: os.Getgid(), Size: 1}},
	}
	return []*syscall.SysProcAttr{strong, {Pdeathsig: syscall.SIGKILL}}
}
