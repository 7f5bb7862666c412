package overseer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// TrashDays is how long what was deleted can still be brought back by hand.
const TrashDays = 30

func (k *Kernel) trash() string { return filepath.Join(k.options.Folder, "trash") }

// discard moves a file or folder into the trash under a name that says what it was and when. What is not there is no
// error: a deletion that was cut short is finished by asking again.
func (k *Kernel) discard(path, name string) error {
	if err := os.MkdirAll(k.trash(), 0o700); err != nil {
		return fmt.Errorf("overseer: trash: %w", err)
	}
	err := os.Rename(path, filepath.Join(k.trash(), strconv.FormatInt(now(), 10)+"-"+name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("overseer: trash: %w", err)
	}
	return nil
}

// EmptyTrash removes what was deleted more than TrashDays days before now. Anything in the folder that was not put there
// by discard stays.
func (k *Kernel) EmptyTrash(now time.Time) error {
	entries, err := os.ReadDir(k.trash())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		stamp, _, _ := strings.Cut(e.Name(), "-")
		ms, bad := strconv.ParseInt(stamp, 10, 64)
		if bad != nil || now.Sub(time.UnixMilli(ms)) < TrashDays*24*time.Hour {
			continue
		}
		err = errors.Join(err, os.RemoveAll(filepath.Join(k.trash(), e.Name())))
	}
	return err
}
