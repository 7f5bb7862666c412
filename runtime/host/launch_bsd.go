//go:build unix && !linux

package host

import "syscall"

// processAttributes: this system knows neither namespaces nor a parent-death signal; the child ends when its socket
// does.
func processAttributes() []*syscall.SysProcAttr { return []*syscall.SysProcAttr{{}} }

// offer: this system does not ask which process it should end.
func offer(int) {}
