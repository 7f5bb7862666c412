//go:build hasty

package overseer

import "time"

// defaultIdle is short in the build that the kill test needs to meet a gadget that is being evicted.
const defaultIdle = 5 * time.Millisecond
