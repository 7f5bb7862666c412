package app

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// remembered is what the window keeps from one start to the next on this machine.
type remembered struct {
	Folder string           `json:"folder,omitempty"` // where the person saved a file last
	Places map[string]place `json:"places,omitempty"` // by arrangement of screens; not changed in place
	Last   *place           `json:"last,omitempty"`   // the newest of them
	Zoom   int              `json:"zoom,omitempty"`   // per cent
}

// memory is the file window.json of the data folder. One that is missing or cannot be read is an empty one: nothing in it is
// anybody's work. Its methods may be called from any goroutine.
type memory struct {
	path string

	mu   sync.Mutex
	kept remembered
}

const maxMemory = 1 << 20 // bytes of window.json that are looked at

func openMemory(folder string) *memory {
	m := &memory{path: filepath.Join(folder, "window.json")}
	if file, err := os.Open(m.path); err == nil {
		defer file.Close()
		if json.NewDecoder(io.LimitReader(file, maxMemory)).Decode(&m.kept) != nil {
			m.kept = remembered{}
		}
	}
	return m
}

// recall returns what is remembered now.
func (m *memory) recall() remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept
}

// change remembers what f changes. On an error the change holds until the program ends.
func (m *memory) change(f func(*remembered)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(&m.kept)
	text, err := json.MarshalIndent(m.kept, "", "  ")
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	return replaceFile(m.path, 0o600, bytes.NewReader(text))
}

// errNoFile means that a folder, a device or the like has the name that a file was to have.
var errNoFile = errors.New("that is not an ordinary file")

// replaceFile makes path a file of what from gives: all of it or, on an error, nothing; what was there before stays until
// then. It is on the disk when replaceFile returns. A new file has the mode given, less what the umask takes; one that is
// replaced keeps its own. A link stays one, and the file that it leads to is replaced.
func replaceFile(path string, mode fs.FileMode, from io.Reader) (err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	old, missing := os.Stat(path)
	if missing == nil && !old.Mode().IsRegular() {
		return fmt.Errorf("app: %s: %w", path, errNoFile)
	}
	var b [8]byte
	rand.Read(b[:])
	name := filepath.Join(filepath.Dir(path), ".toolshed-"+hex.EncodeToString(b[:])+".part")
	part, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	defer func() {
		if err != nil {
			part.Close()
			os.Remove(name)
			err = fmt.Errorf("app: %w", err)
		}
	}()
	if missing == nil {
		if err := part.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	if _, err := io.Copy(part, from); err != nil {
		return err
	}
	if err := errors.Join(part.Sync(), part.Close()); err != nil {
		return err
	}
	if err := os.Rename(name, path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes a renamed file's name last. Windows does that by itself, and has no way to ask for it.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
