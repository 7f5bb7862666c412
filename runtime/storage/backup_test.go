package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"toolshed/runtime/storage"
)

func TestBackup(t *testing.T) {
	folder := t.TempDir()
	backups := filepath.Join(folder, "backups", "gadget")
	path := filepath.Join(folder, "gadget.db")
	s := mustOpen(t, path)
	defer s.Close()
	if list, err := storage.Backups(backups); err != nil || len(list) != 0 {
		t.Errorf("before the first: %v (%v)", list, err)
	}
	os.MkdirAll(backups, 0o700)
	unfinished := filepath.Join(backups, "20200101T000000.000000000Z.db.new-123") // as a crash leaves it
	os.WriteFile(unfinished, []byte("half"), 0o600)
	for n := range 5 {
		change := turn("n", fmt.Sprint(n))
		change.Alarm = &storage.Alarm{Time: int64(n + 1), Due: int64(n + 1)}
		s.Apply(change, nil) // not waited for: a backup holds what was applied
		s.Apply(turn("large", string(noise(uint64(n), 300_000))), nil)
		made, err := s.Backup(backups, storage.Keep{Last: 3})
		if err != nil {
			t.Fatal(err)
		}
		list, err := storage.Backups(backups)
		if err != nil || len(list) != min(n+1, 3) || list[0] != made {
			t.Fatalf("after backup %d: %v (%v), want %v first", n, list, err, made)
		}
	}
	s.Apply(turn("n", "later"), nil)
	list, _ := storage.Backups(backups)
	for n, b := range list {
		c := mustOpen(t, b.Path)
		if v, _, err := c.Get("n"); string(v) != fmt.Sprint(4-n) {
			t.Errorf("backup %d holds %q (%v)", n, v, err)
		}
		if a, err := c.Alarm(); a.Time != int64(5-n) {
			t.Errorf("backup %d holds the alarm %+v (%v)", n, a, err)
		}
		if v, _, err := c.Get("large"); !bytes.Equal(v, noise(uint64(4-n), 300_000)) {
			t.Errorf("backup %d holds another large value (%v)", n, err)
		}
		c.Close()
	}
	if files, _ := os.ReadDir(backups); len(files) != 3 {
		t.Errorf("the folder holds %v", files)
	}
	if _, err := storage.OpenMemory().Backup(backups, storage.Keep{}); err == nil {
		t.Error("a store in memory was backed up")
	}
}

// TestBackupWhileWriting: a backup is one moment, whatever is written meanwhile.
func TestBackupWhileWriting(t *testing.T) {
	folder := t.TempDir()
	s := mustOpen(t, filepath.Join(folder, "gadget.db"))
	for n := range 100 { // a file that takes many commits to copy
		s.Apply(turn(fmt.Sprint("fill", n), string(noise(uint64(n), 200_000))), nil)
	}
	var writer sync.WaitGroup
	stop := make(chan bool)
	writer.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			v := []byte(fmt.Sprint(n))
			s.Apply(storage.Turn{Writes: []storage.Write{
				{Key: "a", Value: v}, {Key: "z", Value: v},
			}}, nil).Wait(t.Context())
		}
	})
	for range 5 {
		b, err := s.Backup(filepath.Join(folder, "backups"), storage.Keep{Last: 100})
		if err != nil {
			t.Error(err)
			break
		}
		c := mustOpen(t, b.Path)
		a, _, _ := c.Get("a")
		z, _, _ := c.Get("z")
		if !bytes.Equal(a, z) {
			t.Errorf("half a turn: a=%s z=%s", a, z)
		}
		c.Close()
	}
	close(stop)
	writer.Wait()
	s.Close()
}

func TestKeep(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	var list []storage.Backup
	for n := range 40 { // every six hours for ten days
		list = append(list, storage.Backup{Path: fmt.Sprint(n), Time: now.Add(-time.Duration(n) * 6 * time.Hour), Size: 100})
	}
	for _, c := range []struct {
		keep storage.Keep
		want string
	}{
		{storage.Keep{}, "[0 1 2 3 7 11 15 19 23]"},
		{storage.Keep{Last: 2}, "[0 1]"},
		{storage.Keep{Daily: 2}, "[0 3]"},
		{storage.Keep{Last: -1}, "[0]"},
		{storage.Keep{Last: 5, Daily: 1}, "[0 1 2 3 4]"},
		{storage.Keep{Last: 3, Daily: 7, Bytes: 550}, "[0 1 2 3 7]"},
		{storage.Keep{Last: 5, Bytes: 500}, "[0 1 2 3 4]"},
		{storage.Keep{Last: 5, Bytes: 1}, "[0]"},
	} {
		surplus := c.keep.Surplus(list)
		var kept []string
		for _, b := range list {
			if !slices.Contains(surplus, b) {
				kept = append(kept, b.Path)
			}
		}
		if fmt.Sprint(kept) != c.want {
			t.Errorf("%+v keeps %v, want %v", c.keep, kept, c.want)
		}
	}
	rare := []storage.Backup{{Time: now}, {Time: now.AddDate(0, -1, 0)}, {Time: now.AddDate(-1, 0, 0)}}
	if surplus := (storage.Keep{Last: 1, Daily: 7}).Surplus(rare); len(surplus) > 0 {
		t.Errorf("days without a backup used up the schedule: %v", surplus)
	}
}

// TestBackupOfDamage: a damaged store makes no backup and costs none.
func TestBackupOfDamage(t *testing.T) {
	folder := t.TempDir()
	path, backups := filepath.Join(folder, "gadget.db"), filepath.Join(folder, "backups")
	s := mustOpen(t, path)
	s.Apply(turn("large", string(largeValue)), nil)
	for range 2 {
		if _, err := s.Backup(backups, storage.Keep{Last: 2}); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := storage.Backups(backups)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, largeValue[:1000])
	f, _ := os.OpenFile(path, os.O_WRONLY, 0)
	f.WriteAt([]byte("xyz"), int64(at+500))
	f.Close()
	if _, err := s.Backup(backups, storage.Keep{Last: 2}); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("the backup of a damaged file: %v, want ErrDamaged", err)
	}
	s.Close()
	after, _ := storage.Backups(backups)
	if files, _ := os.ReadDir(backups); !slices.Equal(before, after) || len(files) != len(before) {
		t.Errorf("the backups were %v and are %v, with %d files", before, after, len(files))
	}
}

// TestBackupsNeverOverwritten: also not with a clock that was put back, and foreign files stay.
func TestBackupsNeverOverwritten(t *testing.T) {
	folder := t.TempDir()
	s := mustOpen(t, filepath.Join(folder, "gadget.db"))
	defer s.Close()
	s.Apply(turn("a", "old"), nil)
	future := filepath.Join(folder, "29991231T235959.999999999Z.db")
	if err := s.CopyTo(future); err != nil {
		t.Fatal(err)
	}
	s.Apply(turn("a", "new"), nil)
	made, err := s.Backup(folder, storage.Keep{Last: 1})
	if err != nil {
		t.Fatal(err)
	}
	list, _ := storage.Backups(folder)
	if len(list) == 0 || list[0] != made || made.Path == future {
		t.Errorf("the newest of %v is not the one just made, %v", list, made)
	}
	if _, err := os.Stat(filepath.Join(folder, "gadget.db")); err != nil {
		t.Errorf("a file that is no backup was removed (%v)", err)
	}
}

// TestDamageOffersBackup: Open names the newest backup that is whole, and Restore brings it back and loses nothing.
func TestDamageOffersBackup(t *testing.T) {
	folder := t.TempDir()
	path, backups := filepath.Join(folder, "gadget.db"), filepath.Join(folder, "backups")
	s := mustOpen(t, path)
	var made []storage.Backup
	for n := range 3 {
		s.Apply(turn("a", fmt.Sprint(n)), nil)
		b, err := s.Backup(backups, storage.Keep{})
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, b)
	}
	s.Close()
	broken := []byte(strings.Repeat("broken ", 10_000))
	os.WriteFile(made[2].Path, broken, 0o600) // the newest backup is damaged too
	os.WriteFile(path, broken, 0o600)
	_, err := storage.Open(path, &storage.Options{Backups: backups})
	var damaged *storage.DamagedError
	if !errors.Is(err, storage.ErrDamaged) || !errors.As(err, &damaged) {
		t.Fatalf("open: %v, want a DamagedError", err)
	}
	if damaged.Path != path || damaged.Backup != made[1].Path || !damaged.Time.Equal(made[1].Time) || !strings.Contains(err.Error(), made[1].Path) {
		t.Errorf("open: %+v, want the backup %v", damaged, made[1])
	}
	if _, err := storage.Open(path, nil); !errors.As(err, &damaged) || damaged.Backup != "" {
		t.Errorf("open without backups: %v", err)
	}
	if aside, err := storage.Restore(path, made[2].Path); !errors.Is(err, storage.ErrDamaged) || aside != "" {
		t.Errorf("restoring a damaged backup: %q, %v", aside, err)
	}
	if now, _ := os.ReadFile(path); !bytes.Equal(now, broken) {
		t.Error("a refused restore changed the file")
	}

	aside, err := storage.Restore(path, made[1].Path)
	if err != nil {
		t.Fatal(err)
	}
	if now, err := os.ReadFile(aside); err != nil || !bytes.Equal(now, broken) || filepath.Dir(aside) != folder {
		t.Errorf("the damaged file is not in %s (%v)", aside, err)
	}
	s = mustOpen(t, path)
	if v, _, err := s.Get("a"); string(v) != "1" {
		t.Errorf("the restored store holds %q (%v)", v, err)
	}
	if _, err := storage.Restore(path, made[0].Path); !errors.Is(err, storage.ErrInUse) {
		t.Errorf("restoring over an open store: %v, want ErrInUse", err)
	}
	s.Close()
	for n := range 2 { // twice at nearly the same time, and where nothing is
		if n == 1 {
			os.Remove(path)
		}
		if aside, err := storage.Restore(path, made[0].Path); err != nil || (aside == "") != (n == 1) {
			t.Errorf("restore %d: %q, %v", n, aside, err)
		}
	}
	if list, _ := storage.Backups(backups); len(list) != 3 {
		t.Errorf("restoring took backups away: %v", list)
	}
	files, _ := os.ReadDir(folder)
	for _, f := range files {
		if strings.Contains(f.Name(), ".new-") {
			t.Errorf("%s was left behind", f.Name())
		}
	}
}

// TestDamageFoundLater: an error of a value that is read offers the backup too.
func TestDamageFoundLater(t *testing.T) {
	folder := t.TempDir()
	path, backups := filepath.Join(folder, "gadget.db"), filepath.Join(folder, "backups")
	s := mustOpen(t, path)
	s.Apply(turn("large", string(largeValue)), nil)
	b, err := s.Backup(backups, storage.Keep{})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	data, _ := os.ReadFile(path)
	data[bytes.Index(data, largeValue[:1000])] ^= 1
	os.WriteFile(path, data, 0o600)
	s, err = storage.Open(path, &storage.Options{Backups: backups})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var damaged *storage.DamagedError
	if _, _, err := s.Get("large"); !errors.As(err, &damaged) || damaged.Backup != b.Path {
		t.Errorf("Get: %v, want the backup %v", err, b)
	}
}

// A file is unchanged until something is committed to it, also after it was closed and opened.
func TestUnchanged(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "gadget.db")
	s := mustOpen(t, path)
	unchanged := func(when string, b storage.Backup, want bool) {
		t.Helper()
		if got, err := storage.Unchanged(path, b); err != nil || got != want {
			t.Errorf("%s: unchanged is %v (%v)", when, got, err)
		}
	}
	for n := range 4 { // either of the meta pages is the last one written
		if err := s.Apply(turn("n", fmt.Sprint(n)), nil).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		b, err := s.Backup(filepath.Join(folder, "backups"), storage.Keep{Last: 9})
		if err != nil {
			t.Fatal(err)
		}
		unchanged("just now", b, true)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = mustOpen(t, path)
		unchanged("opened again", b, true)
		if err := s.Apply(turn("n", fmt.Sprint(n, "later")), nil).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		unchanged("changed", b, false)
	}
	defer s.Close()
	if _, err := storage.Unchanged(path, storage.Backup{Path: filepath.Join(folder, "none")}); err == nil {
		t.Error("a backup that is not there")
	}
}
