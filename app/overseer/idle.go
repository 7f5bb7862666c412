//go:build !hasty

package overseer

import "time"

// defaultIdle is how long a gadget that has nothing to do goes on running.
const defaultIdle = time.Minute
