//go:build !linux

package image

import "errors"

func newMapped(int) (arena, error) {
	return nil, errors.New("images cannot be mapped here")
}
