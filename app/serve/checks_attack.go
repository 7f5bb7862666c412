//go:build attack

package serve

import (
	"os"
	"slices"
	"strings"
)

// on lets the attack tests leave checks out, by their names in TOOLSHED_WITHOUT with commas between, to show that what they
// stop would happen without them. This file is in no build that is given to anybody.
func on(c check) bool {
	return !slices.Contains(strings.Split(os.Getenv("TOOLSHED_WITHOUT"), ","), string(c))
}
