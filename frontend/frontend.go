// Package frontend holds the page: the shell that a person sees, built from
// src/ into dist/ and embedded in the program.
//
// dist/ is not committed. What it holds after set-up: index.html and assets/
// (the shell, served under its own content security policy) and frame/boot.js
// (one classic script that is inlined into every gadget's frame document and
// shares nothing with the shell but a message port).
//
// A clean clone has only a placeholder in dist/, so that the module compiles
// and vets before the page was ever built; Dist then says what to run.
package frontend

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// ErrMissing says that the program was compiled before the page was built.
var ErrMissing = errors.New("the page is missing: run make setup")

// Dist returns the built page, rooted so that "index.html" and
// "frame/boot.js" are paths in it. It returns ErrMissing when the page had not
// been built at the time the program was compiled. It may be called any number
// of times and from any goroutine; the file system is read-only.
func Dist() (fs.FS, error) {
	return root(dist)
}

func root(built fs.FS) (fs.FS, error) {
	sub, err := fs.Sub(built, "dist")
	if err != nil {
		return nil, fmt.Errorf("open the page: %w", err)
	}
	for _, name := range []string{"index.html", "frame/boot.js"} {
		info, err := fs.Stat(sub, name)
		if err != nil || info.IsDir() {
			return nil, ErrMissing
		}
	}
	return sub, nil
}
