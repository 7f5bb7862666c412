package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"syscall"

	bolterrors "go.etcd.io/bbolt/errors"
)

// guard runs what touches a bbolt file. bbolt reads its file through a memory map and believes what it reads, so
// a damaged file shows as a fault or a panic: guard turns both into ErrDamaged.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w (%v)", ErrDamaged, cause)
		}
	}()
	return f()
}

// explain gives an error of the file system or of bbolt the package's sentinel.
func explain(err error) error {
	for _, own := range []error{ErrDamaged, ErrInUse, ErrReadOnly, ErrFull, ErrFormat} {
		if errors.Is(err, own) {
			return err
		}
	}
	for _, known := range []struct {
		sentinel error
		causes   []error
	}{
		{ErrInUse, []error{bolterrors.ErrTimeout}},
		{ErrFull, []error{syscall.ENOSPC, syscall.EDQUOT, errDiskFull}},
		{ErrReadOnly, []error{fs.ErrPermission, syscall.EROFS}},
		{ErrDamaged, []error{bolterrors.ErrInvalid, bolterrors.ErrChecksum, bolterrors.ErrVersionMismatch, bolterrors.ErrInvalidMapping, bolterrors.ErrFreePagesNotLoaded}},
	} {
		for _, cause := range known.causes {
			if errors.Is(err, cause) {
				return fmt.Errorf("%w (%v)", known.sentinel, err)
			}
		}
	}
	return err
}

// errDiskFull is the number that Windows gives a full disk (ERROR_DISK_FULL); no Unix error has it on a write.
const errDiskFull = syscall.Errno(112)

// syncFolder makes a new name in the folder durable, where the system can.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}
