package app

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestOnlyAddressesOfPagesAndMailAreOpened(t *testing.T) {
	for address, want := range map[string]bool{
		"https://example.com/a?b=c#d":         true,
		"http://127.0.0.1:1/":                 true,
		"mailto:ada@example.com?subject=Hi":   true,
		"http:///etc":                         false,
		"https:":                              false,
		"":                                    false,
		"file:///etc/passwd":                  false,
		"javascript:alert(1)":                 false,
		"data:text/html,x":                    false,
		"toolshed://x":                        false,
		"-https://example.com":                false,
		"https://example.com/ --profile":      false,
		"https://example.com/\n":              false,
		"https://example.com/\"&calc":         false,
		"https://example.com/`id`":            false,
		"https://exämple.com/":                false,
		"https://example.com/" + long(8_192):  false,
		"http://[::1":                         false,
		"https://example.com/%zz":             false,
		"https://example.com/$(id);id&id'id'": true, // one argument of one program: no shell reads it
	} {
		if err := checkAddress(address); (err == nil) != want {
			t.Errorf("%.60q: %v", address, err)
		}
	}
}

func long(n int) string { return strings.Repeat("x", n) }

func TestTheSystemsProgramOpensAnAddress(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the program that opens addresses is xdg-open on Linux only")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("WEBKIT_DISABLE_DMABUF_RENDERER", "1")
	tool := func(script string) {
		if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	tool(`printf '%s|' "$#" "$@" "$WEBKIT_DISABLE_DMABUF_RENDERER" > ` + dir + "/said\n")
	if p := openAddress("https://example.com/$(id)?a=b&c"); p != nil {
		t.Error(p)
	}
	if got := content(t, filepath.Join(dir, "said")); got != "1|https://example.com/$(id)?a=b&c||" {
		t.Errorf("it was given %q", got)
	}
	tool("exit 3\n")
	if p := openAddress("https://example.com/"); p == nil || !strings.Contains(p.Why, "exit status 3") {
		t.Errorf("a failure: %v", p)
	}
	t.Setenv("PATH", t.TempDir())
	if p := openAddress("https://example.com/"); p == nil || !strings.Contains(p.Why, "xdg-open") {
		t.Errorf("no such program: %v", p)
	}
	if p := openAddress("file:///etc/passwd"); p == nil || p.What == "" || p.Todo == "" {
		t.Errorf("a file: %v", p)
	}
}
