//go:build !linux

package image

import "testing"

func memory(_ *testing.T, pages int) []byte { return make([]byte, pages*PageSize) }
