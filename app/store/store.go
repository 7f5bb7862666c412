// Package store keeps the program's own records: typed collections over one bbolt file.
//
// A file has a version. Open brings an older file up to date by running the missing migrations, each in a transaction of
// its own, and refuses a file that a newer program wrote, because guessing at it could lose what it holds. Values are
// JSON, keys are byte-ordered strings.
//
// Transactions are short by construction: View and Update run one function and end. Nothing read inside may be kept as a
// slice of the file; collections copy what they decode, so this is a caveat only for code inside this package.
//
// A file that is damaged is never repaired, truncated or removed here: Open and every transaction answer ErrDamaged with
// the file's name, and the person decides.
package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Errors of Open.
var (
	// ErrDamaged means that the file is not a database, or that its pages contradict each other.
	ErrDamaged = errors.New("the file is damaged")
	// ErrInUse means that another process has the file open.
	ErrInUse = errors.New("another program has the file open")
	// ErrNewer means that a newer version of the program wrote the file.
	ErrNewer = errors.New("a newer version of Toolshed wrote the file")
)

// Errors of a transaction.
var (
	// ErrNotFound means that a collection has no record with that id.
	ErrNotFound = errors.New("not found")
	// ErrFull means that the disk, or the person's share of it, has no room left. Nothing of the transaction was kept.
	ErrFull = errors.New("no room left on the disk")
	// ErrReadOnly means that the file or its folder cannot be written.
	ErrReadOnly = errors.New("the folder cannot be written")
)

// FileError is an error with one of this package's errors as its Kind, and the file that it is about.
type FileError struct {
	Op   string // open, read, write, copy or use
	Path string
	Kind error
	Err  error // what the system or bbolt said
}

// Error names the operation, the file and both errors.
func (e *FileError) Error() string {
	return fmt.Sprintf("store: %s %s: %v (%v)", e.Op, e.Path, e.Kind, e.Err)
}

// Unwrap returns the kind and what the system said.
func (e *FileError) Unwrap() []error { return []error{e.Kind, e.Err} }

// openTimeout bounds how long Open waits for another process to let go of the file: long enough for one that is just
// exiting, short enough that a person who started the program twice gets an answer.
const openTimeout = 400 * time.Millisecond

var (
	metaBucket = []byte("meta")
	versionKey = []byte("version")
)

// Migration changes a file from one version to the next.
type Migration func(*Tx) error

// Schema is what a file must hold: the names of its collections, and how to get there from older files. The version of a
// file is the number of migrations it has been through.
type Schema struct {
	Collections []string
	Migrations  []Migration
}

// DB is one open file. Its methods may be called from any goroutine.
type DB struct {
	path string
	bolt *bbolt.DB
}

// Open opens or creates the file at path with mode 0600 and brings it to the schema's version.
func Open(path string, schema Schema) (db *DB, err error) {
	defer guard(path, &err)()
	bolt, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: openTimeout, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, fail("open", path, err)
	}
	db = &DB{path: path, bolt: bolt}
	if err := db.migrate(schema); err != nil {
		bolt.Close()
		return nil, err
	}
	return db, nil
}

func (db *DB) migrate(schema Schema) error {
	version, err := db.version()
	if err != nil {
		return err
	}
	if version > len(schema.Migrations) {
		return fmt.Errorf("store: open %s: %w (version %d, this one knows %d)", db.path, ErrNewer, version, len(schema.Migrations))
	}
	for ; version < len(schema.Migrations); version++ {
		err := db.Update(func(tx *Tx) error {
			if err := schema.Migrations[version](tx); err != nil {
				return fmt.Errorf("migration %d: %w", version+1, err)
			}
			return tx.setVersion(version + 1)
		})
		if err != nil {
			return err
		}
	}
	return db.Update(func(tx *Tx) error {
		for _, name := range schema.Collections {
			if _, err := tx.bolt.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		return tx.setVersion(version)
	})
}

func (db *DB) version() (version int, err error) {
	err = db.View(func(tx *Tx) error {
		if meta := tx.bolt.Bucket(metaBucket); meta != nil {
			if b := meta.Get(versionKey); len(b) == 8 {
				version = int(binary.BigEndian.Uint64(b))
			}
		}
		return nil
	})
	return version, err
}

// Path is the file's name as given to Open.
func (db *DB) Path() string { return db.path }

// Close waits for running transactions and closes the file. It may be called twice.
func (db *DB) Close() error { return db.bolt.Close() }

// Tx is a running transaction. It must not be used after the function it was given to has returned.
type Tx struct {
	bolt *bbolt.Tx
}

func (tx *Tx) setVersion(version int) error {
	meta, err := tx.bolt.CreateBucketIfNotExists(metaBucket)
	if err != nil {
		return err
	}
	return meta.Put(versionKey, binary.BigEndian.AppendUint64(nil, uint64(version)))
}

// View runs f in a read-only transaction and returns its error.
func (db *DB) View(f func(*Tx) error) (err error) {
	defer guard(db.path, &err)()
	return fail("read", db.path, db.bolt.View(func(tx *bbolt.Tx) error { return f(&Tx{tx}) }))
}

// Update runs f in a read-write transaction. When it returns nil everything f wrote is on disk; when it returns an error
// nothing is.
func (db *DB) Update(f func(*Tx) error) (err error) {
	defer guard(db.path, &err)()
	return fail("write", db.path, db.bolt.Update(func(tx *bbolt.Tx) error { return f(&Tx{tx}) }))
}

// CopyTo writes a consistent copy of the file to path, which must not exist. It goes through a temporary file in the same
// folder, so that a copy with that name is always whole.
func (db *DB) CopyTo(ctx context.Context, path string) (err error) {
	defer guard(db.path, &err)()
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("store: copy to %s: %w", path, fs.ErrExist)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".copy-*")
	if err != nil {
		return fail("copy", path, err)
	}
	defer os.Remove(temp.Name())
	defer temp.Close()
	err = db.bolt.View(func(tx *bbolt.Tx) error {
		_, err := tx.WriteTo(contextWriter{ctx, temp})
		return err
	})
	if err == nil {
		err = temp.Sync()
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	return fail("copy", path, err)
}

type contextWriter struct {
	ctx  context.Context
	file *os.File
}

func (w contextWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.file.Write(p)
}

// guard turns a fault in the memory-mapped file, or a panic of bbolt about pages that contradict each other, into
// ErrDamaged. It is used as `defer guard(path, &err)()`.
func guard(path string, err *error) func() {
	old := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			*err = &FileError{Op: "use", Path: path, Kind: ErrDamaged, Err: fmt.Errorf("%v", r)}
		}
	}
}

// fail names the operation and the file, and maps what the system and bbolt say to this package's errors. An error that is
// already one of them passes unchanged.
func fail(op, path string, err error) error {
	if err == nil {
		return nil
	}
	for _, known := range []error{ErrDamaged, ErrInUse, ErrNewer, ErrNotFound, ErrFull, ErrReadOnly} {
		if errors.Is(err, known) {
			return err
		}
	}
	kind := error(nil)
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		kind = ErrInUse
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch), errors.Is(err, berrors.ErrChecksum), errors.Is(err, syscall.EINVAL):
		kind = ErrDamaged
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		kind = ErrFull
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, berrors.ErrDatabaseReadOnly):
		kind = ErrReadOnly
	}
	if kind == nil {
		return fmt.Errorf("store: %s %s: %w", op, path, err)
	}
	return &FileError{Op: op, Path: path, Kind: kind, Err: err}
}
