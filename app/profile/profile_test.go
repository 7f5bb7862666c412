package profile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"toolshed/app/store"
)

func TestOpenMakesAPrivateFolderAndANamedPerson(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "data")
	p, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info, err)
	}
	if person, err := p.Person(); err != nil || person.Name == "" {
		t.Errorf("the person is %+v, %v", person, err)
	}
}

func TestTheFolderHasOneHolder(t *testing.T) {
	dir := t.TempDir()
	p, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("a second Open returned %v", err)
	}
	p.Close()
	p, err = Open(dir)
	if err != nil {
		t.Fatalf("the folder was not let go: %v", err)
	}
	p.Close()
}

func TestBadFoldersSayWhy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file); !errors.Is(err, ErrFolder) {
		t.Errorf("a file as folder: %v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "profile.db"), []byte("not a database, but here it stays"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("a damaged profile: %v", err)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "profile.db")); string(text) != "not a database, but here it stays" {
		t.Error("the damaged file was changed")
	}
}

func TestDefaultFolderFollowsTheEnvironment(t *testing.T) {
	t.Setenv("TOOLSHED_DATA", "/somewhere/else")
	if dir, err := DefaultFolder(); err != nil || dir != "/somewhere/else" {
		t.Errorf("TOOLSHED_DATA: %q, %v", dir, err)
	}
	t.Setenv("TOOLSHED_DATA", "")
	t.Setenv("XDG_DATA_HOME", "/x")
	if dir, _ := DefaultFolder(); dir != "/x/toolshed" {
		t.Errorf("XDG_DATA_HOME: %q", dir)
	}
}
