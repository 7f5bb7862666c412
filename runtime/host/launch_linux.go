package host

import (
	"os"
	"strconv"
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

// offer makes the system, when it runs out of memory, end the child before the kernel. Where it cannot, the system's
// own choice stands.
func offer(pid int) {
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("800"), 0)
}
