// Package profile is this person, with no workspace open: the data folder, who they are, and the notices they have read.
//
// Opening the profile takes the data folder: profile.db is locked as long as it is open, and every other part of the
// program that writes below the folder is started by whoever holds the profile. A second program gets ErrInUse and talks
// to the first one instead (see app/command).
package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"toolshed/app/store"
)

// Errors of Open.
var (
	// ErrInUse means that a running Toolshed holds the data folder.
	ErrInUse = store.ErrInUse
	// ErrFolder means that the data folder cannot be used: not a folder, not readable, not writable.
	ErrFolder = errors.New("the data folder cannot be used")
)

// Person is who uses this Toolshed.
type Person struct {
	// Name is what other people are shown.
	Name string `json:"name"`
}

var people = store.NewCollection[Person]("person")

const me = "me"

var schema = store.Schema{
	Collections: []string{people.Name()},
	Migrations: []store.Migration{
		func(tx *store.Tx) error { return nil }, // version 1: the first layout
	},
}

// Profile is the open profile of one data folder.
type Profile struct {
	dir string
	db  *store.DB
}

// DefaultFolder is where the data lives unless the person says otherwise: TOOLSHED_DATA, else the system's place for a
// program's own data (XDG_DATA_HOME on Linux).
func DefaultFolder() (string, error) {
	if dir := os.Getenv("TOOLSHED_DATA"); dir != "" {
		return filepath.Abs(dir)
	}
	switch runtime.GOOS {
	case "windows", "darwin":
		dir, err := os.UserConfigDir()
		return filepath.Join(dir, "Toolshed"), err
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "toolshed"), nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "share", "toolshed"), err
}

// Open takes the data folder, making it with mode 0700 if it is missing.
func Open(dir string) (*Profile, error) {
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	db, err := store.Open(filepath.Join(dir, "profile.db"), schema)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	p := &Profile{dir: dir, db: db}
	if err := p.introduce(); err != nil {
		db.Close()
		return nil, err
	}
	return p, nil
}

func makeFolder(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(dir); err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
	}
	if err == nil {
		// Somebody else's look at the names of workspaces is nobody's business; a folder made by hand gets the same mode.
		err = os.Chmod(dir, 0o700)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("profile: %s: %w", dir, store.ErrFull)
	}
	return fmt.Errorf("profile: %s: %w: %v", dir, ErrFolder, err)
}

// introduce gives a new profile the name of the system's user.
func (p *Profile) introduce() error {
	known := false
	err := p.db.View(func(tx *store.Tx) error {
		_, err := people.Read(tx, me)
		known = err == nil
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	if err != nil || known {
		return err
	}
	return p.db.Update(func(tx *store.Tx) error { return people.Write(tx, me, Person{Name: systemName()}) })
}

func systemName() string {
	if u, err := user.Current(); err == nil {
		if name := strings.TrimSpace(strings.Split(u.Name, ",")[0]); name != "" {
			return name
		}
		if u.Username != "" {
			return u.Username
		}
	}
	return "Me"
}

// Person returns who uses this profile.
func (p *Profile) Person() (person Person, err error) {
	err = p.db.View(func(tx *store.Tx) error {
		person, err = people.Read(tx, me)
		return err
	})
	return person, err
}

// Folder is the data folder.
func (p *Profile) Folder() string { return p.dir }

// Close lets go of the data folder.
func (p *Profile) Close() error { return p.db.Close() }
