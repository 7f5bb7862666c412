package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

type tool struct {
	Name string `json:"name"`
	Uses int    `json:"uses,omitempty"`
}

var tools = NewCollection[tool]("tools")

func openTools(t *testing.T, path string, migrations ...Migration) *DB {
	t.Helper()
	db, err := Open(path, Schema{Collections: []string{tools.Name()}, Migrations: migrations})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestRecordsSurviveReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db := openTools(t, path)
	err := db.Update(func(tx *Tx) error {
		return errors.Join(tools.Write(tx, "2", tool{"saw", 1}), tools.Write(tx, "1", tool{"axe", 0}))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = openTools(t, path)
	var names []string
	err = db.View(func(tx *Tx) error {
		return tools.Each(tx, func(id string, r tool) error { names = append(names, id+r.Name); return nil })
	})
	if err != nil || len(names) != 2 || names[0] != "1axe" || names[1] != "2saw" {
		t.Fatalf("Each gave %v, %v", names, err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v", info.Mode().Perm())
	}
}

func TestFailedUpdateKeepsNothing(t *testing.T) {
	db := openTools(t, filepath.Join(t.TempDir(), "a.db"))
	boom := errors.New("boom")
	err := db.Update(func(tx *Tx) error {
		if err := tools.Write(tx, "1", tool{"axe", 0}); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) {
		t.Fatalf("Update returned %v", err)
	}
	err = db.View(func(tx *Tx) error { _, err := tools.Read(tx, "1"); return err })
	if !errors.Is(err, ErrNotFound) {
		t.Fatalf("the record of a failed transaction reads as %v", err)
	}
}

func TestMigrationsRunOnceAndInOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	var ran []int
	step := func(n int) Migration { return func(*Tx) error { ran = append(ran, n); return nil } }
	openTools(t, path, step(1)).Close()
	openTools(t, path, step(1), step(2), step(3)).Close()
	if len(ran) != 3 || ran[0] != 1 || ran[1] != 2 || ran[2] != 3 {
		t.Fatalf("migrations ran as %v", ran)
	}
	_, err := Open(path, Schema{Migrations: []Migration{step(1)}})
	if !errors.Is(err, ErrNewer) {
		t.Fatalf("a file from a newer program opened with %v", err)
	}
}

func TestSecondOpenSaysInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	openTools(t, path)
	if _, err := Open(path, Schema{}); !errors.Is(err, ErrInUse) {
		t.Fatalf("the second Open returned %v", err)
	}
}

func TestDamageIsNamedAndNeverRemoved(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "a.db")
	db := openTools(t, whole)
	for i := range 200 {
		err := db.Update(func(tx *Tx) error { return tools.Write(tx, string(rune('a'+i)), tool{"saw", i}) })
		if err != nil {
			t.Fatal(err)
		}
	}
	db.Close()
	good, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for name, bytes := range map[string][]byte{
		"empty page":    append(append([]byte{}, make([]byte, 8192)...), good[8192:]...),
		"truncated":     good[:len(good)/3],
		"a text file":   []byte("dear diary"),
		"flipped pages": flip(good),
	} {
		path := filepath.Join(t.TempDir(), "b.db")
		if err := os.WriteFile(path, bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := Open(path, Schema{Collections: []string{tools.Name()}})
		if err == nil {
			err = db.View(func(tx *Tx) error { return tools.Each(tx, func(string, tool) error { return nil }) })
			db.Close()
		}
		if err != nil {
			damaged++
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: the file is gone: %v", name, err)
		}
	}
	if damaged < 3 {
		t.Errorf("only %d of 4 damaged files were noticed", damaged)
	}
}

func flip(b []byte) []byte {
	out := append([]byte{}, b...)
	for i := 8192; i < len(out); i += 97 {
		out[i] ^= 0xff
	}
	return out
}

func TestCopyIsWholeAndNeverOverwrites(t *testing.T) {
	dir := t.TempDir()
	db := openTools(t, filepath.Join(dir, "a.db"))
	if err := db.Update(func(tx *Tx) error { return tools.Write(tx, "1", tool{"axe", 7}) }); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "b.db")
	if err := db.CopyTo(context.Background(), to); err != nil {
		t.Fatal(err)
	}
	if err := db.CopyTo(context.Background(), to); !errors.Is(err, os.ErrExist) {
		t.Fatalf("the second copy returned %v", err)
	}
	err := openTools(t, to).View(func(tx *Tx) error {
		r, err := tools.Read(tx, "1")
		if err == nil && r.Uses != 7 {
			t.Errorf("the copy holds %+v", r)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
