package storage

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"go.etcd.io/bbolt"
)

// compactAbove is how many free pages a file may have, unless most of it is in use. bbolt writes the list of free
// pages whole with every commit, 8 bytes each, and never makes a file smaller.
const compactAbove = 4096

// compactSuffix comes after the name of a file that is being compacted.
const compactSuffix = ".compact-"

// roomy reports whether the file has too many free pages.
func (b *bolt) roomy(above int) bool {
	if above == 0 {
		above = compactAbove
	}
	info, err := os.Stat(b.path)
	free := b.db.Stats().FreePageN
	return err == nil && free > above && (above < 0 || int64(free) > info.Size()/int64(b.db.Info().PageSize)/2)
}

// compact puts a copy without free pages in the place of the file. The copy is verified first, and the lock is held
// until it has its name. Whatever fails, the file stays as it is, and the store works with that.
func (b *bolt) compact() {
	sweepCompacted(b.path)
	f, err := os.CreateTemp(filepath.Dir(b.path), filepath.Base(b.path)+compactSuffix+"*")
	if err != nil {
		return
	}
	f.Close()
	defer os.Remove(f.Name())
	err = guard(func() error {
		to, err := openDB(f.Name(), false)
		if err != nil {
			return err
		}
		to.NoSync = true // one sync at the end will do
		err = bbolt.Compact(to, b.db, 4<<20)
		return errors.Join(err, to.Sync(), closeDB(to))
	})
	if err != nil || Verify(f.Name()) != nil {
		return
	}
	if os.Rename(f.Name(), b.path) == nil {
		syncFolder(filepath.Dir(b.path))
	}
}

// sweepCompacted removes what a crash left of an earlier compaction.
func sweepCompacted(path string) {
	files, _ := os.ReadDir(filepath.Dir(path))
	for _, f := range files {
		if strings.HasPrefix(f.Name(), filepath.Base(path)+compactSuffix) {
			os.Remove(filepath.Join(filepath.Dir(path), f.Name()))
		}
	}
}
