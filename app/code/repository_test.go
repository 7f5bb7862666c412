package code

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

var change = Change{Author: "Ada", Message: "Make it", Time: time.Unix(1_700_000_000, 0)}

func TestCommitsAreReadBackAndEqualContentMakesNone(t *testing.T) {
	repo, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := repo.Head("g1"); !errors.Is(err, ErrNoCode) {
		t.Errorf("a gadget without commit: %v", err)
	}
	files := Files{"server.js": []byte("export class Gadget {}"), "lib/a.js": []byte("1"), "lib.js": []byte("2"), "lib/deep/b.js": {}}
	first, err := repo.Commit("g1", files, change)
	if err != nil {
		t.Fatal(err)
	}
	again, err := repo.Commit("g1", files, change)
	if err != nil || again != first {
		t.Errorf("equal content made commit %s after %s (%v)", again, first, err)
	}
	files["lib.js"] = []byte("3")
	second, err := repo.Commit("g1", files, change)
	if err != nil || second == first {
		t.Errorf("a change made commit %s after %s (%v)", second, first, err)
	}
	hash, got, err := repo.Head("g1")
	if err != nil || hash != second || len(got) != len(files) {
		t.Fatalf("Head: %s, %v, %v", hash, got.Paths(), err)
	}
	for path, text := range files {
		if string(got[path]) != string(text) {
			t.Errorf("%s reads %q", path, got[path])
		}
	}
}

// Any git can clone the repository: the real one checks it and lists the files.
func TestGitItselfReadsTheRepository(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal("git is not installed; make setup installs it")
	}
	dir := t.TempDir()
	repo, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Commit("g1", Files{"a/b.js": []byte("1"), "a.js": []byte("2"), "a-b.js": []byte("3")}, change); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(git, "--git-dir", dir, "fsck", "--strict").CombinedOutput(); err != nil {
		t.Errorf("git fsck: %v\n%s", err, out)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	if out, err := exec.Command(git, "clone", "-q", dir, clone).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, out)
	}
	out, err := exec.Command(git, "-C", clone, "ls-files").Output()
	if err != nil || string(out) != "a-b.js\na.js\na/b.js\n" {
		t.Errorf("git ls-files: %q, %v", out, err)
	}
}

func TestFilesThatAGadgetMayNotHave(t *testing.T) {
	good := Files{"server.js": nil, "ünïcode/файл.js": nil, "a..b": nil}
	if err := good.Check(); err != nil {
		t.Errorf("good files: %v", err)
	}
	for _, path := range []string{"", "/etc/passwd", "../x", "a/../b", "a//b", "a/./b", "x\x00", "a\\b", ".git/config", "a/.GIT/hooks", "e\u0301.js", string([]byte{0xff})} {
		if err := (Files{path: nil}).Check(); !errors.Is(err, ErrPath) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if err := (Files{"Server.js": nil, "server.js": nil}).Check(); !errors.Is(err, ErrPath) {
		t.Errorf("names that differ in case only: %v", err)
	}
	if err := (Files{"big": make([]byte, maxBytes+1)}).Check(); err == nil {
		t.Error("a gadget over the size limit was taken")
	}
}
