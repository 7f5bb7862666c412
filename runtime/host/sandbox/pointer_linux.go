package sandbox

import "unsafe"

// pointer returns the address of a mapping for the call that maps over it.
func pointer(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
