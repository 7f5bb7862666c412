// Package code keeps the source of gadgets and makes it runnable.
//
// A gadget's code is a flat map from path to bytes (Files). It lives in one bare git repository for each workspace
// (Repository), on a branch of its own, so that any git can clone and read it. Blueprints are code without a gadget: the
// ones in this package are part of the program. Client and Server turn files into what the frame and the sandbox load:
// TypeScript, JSX and CSS go through esbuild, in process and offline; nothing outside the map is ever read.
package code

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// ErrPath means that a file's path is not one a gadget may have.
var ErrPath = errors.New("not a usable file name")

// Bounds on a gadget's code.
const (
	maxPath  = 512      // bytes in a path
	maxFiles = 2_000    // files in a gadget
	maxBytes = 32 << 20 // bytes in all files of a gadget: the limit of a .gadget archive
)

// Files is the code of a gadget: slash-separated relative paths and their bytes.
type Files map[string][]byte

// Check says whether the files can be a gadget's code: paths are relative, without "..", NUL or empty parts, in Unicode
// normal form C, and differ even when upper and lower case are the same.
func (f Files) Check() error {
	if len(f) > maxFiles {
		return fmt.Errorf("code: %d files are more than the limit of %d", len(f), maxFiles)
	}
	total, folded := 0, map[string]string{}
	for _, path := range f.Paths() {
		if why := badPath(path); why != "" {
			return fmt.Errorf("code: %q is %w: %s", path, ErrPath, why)
		}
		key := cases.Fold().String(path)
		if other, taken := folded[key]; taken {
			return fmt.Errorf("code: %q is %w: it differs from %q only in upper and lower case", path, ErrPath, other)
		}
		folded[key] = path
		total += len(f[path])
	}
	if total > maxBytes {
		return fmt.Errorf("code: %d bytes are more than the limit of %d", total, maxBytes)
	}
	return nil
}

// Paths lists the files' paths in byte order.
func (f Files) Paths() []string { return slices.Sorted(maps.Keys(f)) }

func badPath(path string) string {
	switch {
	case path == "" || len(path) > maxPath:
		return fmt.Sprintf("a path has 1 to %d bytes", maxPath)
	case !utf8.ValidString(path) || strings.ContainsAny(path, "\x00\\"):
		return "it has a character that a path may not have"
	case !norm.NFC.IsNormalString(path):
		return "it is not in Unicode normal form C"
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || cases.Fold().String(part) == ".git" {
			return fmt.Sprintf("it may not have the part %q", part)
		}
	}
	return ""
}
