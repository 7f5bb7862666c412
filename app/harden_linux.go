//go:build desktop

package app

/*
#cgo pkg-config: gtk+-3.0 webkit2gtk-4.1
#include <stdlib.h>
#include "harden_linux.h"
*/
import "C"

import (
	"crypto/rand"
	"encoding/hex"
	"sync"
	"unsafe"
)

// The layers of the window's protection. A sandboxed frame of WebKitGTK has window.webkit.messageHandlers.external, through
// which it could call bound methods and the window library's own commands; and a frame can navigate itself and ask for
// connections in ways that no policy of the page speaks of. Each layer stops its part of that (see CONTRIBUTING.md).
const (
	layerGate     = C.LAYER_GATE     // every message to the program carries a secret that only the top page has
	layerPolicy   = C.LAYER_POLICY   // the web view navigates to the program's own pages only
	layerNeuter   = C.LAYER_NEUTER   // frames cannot post messages to the program at all
	layerProxy    = C.LAYER_PROXY    // every connection goes to a proxy that is not there
	layerFeatures = C.LAYER_FEATURES // preconnect, prefetch, beacons, WebRTC and WebTransport are off
	allLayers     = layerGate | layerPolicy | layerNeuter | layerProxy | layerFeatures
)

// hardened is closed when the layers are in place. Until then no page is served.
var (
	hardened     = make(chan struct{})
	hardenedOnce sync.Once
)

//export hardenedFromC
func hardenedFromC() { hardenedOnce.Do(func() { close(hardened) }) }

// harden arranges that the layers are installed in the web view before it is given anything to show. The process ends with
// code 70 if that cannot be done. It returns the channel that is closed when it was.
func harden(layers int) <-chan struct{} {
	var secret [32]byte
	rand.Read(secret[:])
	text := C.CString(hex.EncodeToString(secret[:]))
	defer C.free(unsafe.Pointer(text))
	C.harden_install(C.int(layers), text)
	return hardened
}

// rejectedMessages is how many messages came without the secret.
func rejectedMessages() int { return int(C.harden_rejected()) }
