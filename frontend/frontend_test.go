package frontend

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"
)

func TestRootSaysWhenThePageIsMissing(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"placeholder only": {"dist/.gitkeep": {}},
		"no bootstrap":     {"dist/index.html": {Data: []byte("<!doctype html>")}},
		"no index":         {"dist/frame/boot.js": {Data: []byte("0")}},
	} {
		if _, err := root(files); !errors.Is(err, ErrMissing) {
			t.Errorf("%s: got %v, want ErrMissing", name, err)
		}
	}
}

func TestRootGivesTheBuiltPage(t *testing.T) {
	page, err := root(fstest.MapFS{
		"dist/index.html":    {Data: []byte("<!doctype html>")},
		"dist/frame/boot.js": {Data: []byte("0")},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := fs.ReadFile(page, "index.html")
	if err != nil || string(text) != "<!doctype html>" {
		t.Fatalf("got %q, %v", text, err)
	}
}
