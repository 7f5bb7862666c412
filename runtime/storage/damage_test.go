package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"toolshed/runtime/storage"
)

// filled makes a file with branches, overflow pages and free pages, and returns its bytes.
func filled(t *testing.T, path string) []byte {
	t.Helper()
	s := mustOpen(t, path)
	for n := range 400 {
		s.Apply(turn(fmt.Sprintf("key %d", n), strings.Repeat("v", n)), []byte("entry"))
	}
	s.Apply(turn("long", strings.Repeat("l", 50_000)), nil)
	s.Apply(turn("large", string(largeValue)), largeValue[1:])
	s.Apply(turn("another", string(largeValue[50_000:])), nil)
	if err := s.Apply(turn("key 3", "changed"), nil).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

var largeValue = noise(9, 200_000)

// use opens the file and does everything once. It returns the first error.
func use(t *testing.T, path string) (err error) {
	s, err := storage.Open(path, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for n := range 400 {
		v, ok, err := s.Get(fmt.Sprintf("key %d", n))
		if err != nil {
			return err
		}
		if ok && n != 3 && string(v) != strings.Repeat("v", n) {
			t.Errorf("a damaged value was returned: %.40q", v)
		}
	}
	if v, ok, err := s.Get("large"); err != nil {
		return err
	} else if ok && !bytes.Equal(v, largeValue) {
		t.Error("a damaged large value was returned")
	}
	if _, err := s.List(storage.ListOptions{}); err != nil {
		return err
	}
	if _, err := s.List(storage.ListOptions{Reverse: true}); err != nil {
		return err
	}
	if err := s.Entries(0, func(uint64, []byte) bool { return true }); err != nil {
		return err
	}
	if err := s.Apply(turn("large", string(largeValue[:150_000])), nil).Wait(t.Context()); err != nil {
		return err
	}
	return s.Apply(storage.Turn{Clear: true, Writes: turn("a", "b").Writes}, nil).Wait(t.Context())
}

// expectDamaged allows success (the damage hit nothing that is used) and ErrDamaged with the file's name.
func expectDamaged(t *testing.T, what, path string, before []byte) (damaged bool) {
	t.Helper()
	err := use(t, path)
	if err == nil {
		return false
	}
	if !errors.Is(err, storage.ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("%s: %v, want ErrDamaged with the file's name", what, err)
	}
	if now, err := os.ReadFile(path); err != nil || len(now) < len(before) {
		t.Errorf("%s: the damaged file was changed (%v)", what, err)
	}
	return true
}

func TestTruncated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gadget.db")
	whole := filled(t, path)
	for size := 0; size < len(whole); size += 4096 / 2 {
		if err := os.WriteFile(path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if !expectDamaged(t, fmt.Sprintf("cut to %d", size), path, whole[:size]) && size < len(whole)/4 {
			t.Errorf("cut to %d of %d bytes: no error", size, len(whole))
		}
	}
}

// TestFlipped damages files as they are found after a crash, and as they are found after a clean close: these are
// not read whole by Open, and the damage must show when it is met. TOOLSHED_DAMAGES says how many of each (300).
func TestFlipped(t *testing.T) {
	t.Run("unclean", func(t *testing.T) { flip(t, false) })
	t.Run("clean", func(t *testing.T) { flip(t, true) })
}

func flip(t *testing.T, clean bool) {
	path := filepath.Join(t.TempDir(), "gadget.db")
	whole, random, found := filled(t, path), rand.New(rand.NewPCG(1, 2)), 0
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	rounds, _ := strconv.Atoi(os.Getenv("TOOLSHED_DAMAGES"))
	rounds = max(rounds, 300)
	for n := range rounds {
		broken, at := damage(whole, n, random)
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		if clean {
			os.Chtimes(path, time.Time{}, info.ModTime())
		}
		if expectDamaged(t, fmt.Sprintf("round %d at %d", n, at), path, broken) {
			found++
		}
	}
	if t.Logf("%d of %d damages were found", found, rounds); found < rounds/4 {
		t.Errorf("only %d of %d damages were found", found, rounds)
	}
}

// damage returns the file with one fault, and where it is.
func damage(whole []byte, n int, random *rand.Rand) (broken []byte, at int) {
	broken = bytes.Clone(whole)
	at = random.IntN(len(broken))
	if n%3 > 0 { // the heads and indexes of pages, where damage hurts most
		at = at/4096*4096 + random.IntN(200)
	}
	switch n % 4 {
	case 0:
		broken[at] ^= 1 << random.IntN(8)
	case 1:
		broken[at] = 0xff
	case 2:
		copy(broken[at:], make([]byte, 512))
	default: // a page where another should be
		copy(broken[at/4096*4096:], broken[random.IntN(len(broken)/4096)*4096:][:4096])
	}
	return broken, at
}

// TestFlippedChunk: every bit of a chunk counts.
func TestFlippedChunk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gadget.db")
	whole := filled(t, path)
	for n, c := range storage.Split(largeValue) {
		at := bytes.Index(whole, c)
		if at < 0 {
			t.Fatalf("chunk %d is not in the file", n)
		}
		broken := bytes.Clone(whole)
		broken[at+len(c)-1] ^= 1
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := storage.Verify(path); !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("chunk %d: Verify says %v", n, err)
		}
		if !expectDamaged(t, fmt.Sprintf("chunk %d", n), path, broken) {
			t.Errorf("chunk %d: no error", n)
		}
	}
}

// TestLostChunk takes chunks, groups and counts away, one at a time, and puts wrong ones in.
func TestLostChunk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gadget.db")
	whole := filled(t, path)
	if err := storage.Verify(path); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(groups, chunks, shared *bbolt.Bucket) error{
		"no group": func(groups, _, _ *bbolt.Bucket) error { return groups.Delete(firstKey(groups)) },
		"no chunk": func(_, chunks, _ *bbolt.Bucket) error { return chunks.DeleteBucket(firstKey(chunks)) },
		"no count": func(_, _, shared *bbolt.Bucket) error { return shared.Delete(firstKey(shared)) },
		"a count too high": func(_, _, shared *bbolt.Bucket) error {
			return shared.Put(firstKey(shared), []byte{0, 0, 0, 9})
		},
		"a count of nothing": func(_, _, shared *bbolt.Bucket) error {
			return shared.Put(bytes.Repeat([]byte("c"), 33), []byte{0, 0, 0, 2})
		},
		"a chunk of nothing": func(_, chunks, _ *bbolt.Bucket) error {
			_, err := chunks.CreateBucket(make([]byte, 32))
			return err
		},
		"another group": func(groups, _, _ *bbolt.Bucket) error { return groups.Put(firstKey(groups), make([]byte, 64)) },
		"a short group": func(groups, _, _ *bbolt.Bucket) error { return groups.Put(firstKey(groups), []byte("short")) },
		"another chunk": func(_, chunks, _ *bbolt.Bucket) error {
			return chunks.Bucket(firstKey(chunks)).Put([]byte("c"), []byte("short"))
		},
	} {
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := bbolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(func(tx *bbolt.Tx) error {
			return change(tx.Bucket([]byte("groups")), tx.Bucket([]byte("chunks")), tx.Bucket([]byte("shared")))
		})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		db.Close()
		if err := storage.Verify(path); !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("%s: Verify says %v", what, err)
		}
		expectDamaged(t, what, path, whole)
	}
}

func firstKey(b *bbolt.Bucket) []byte {
	key, _ := b.Cursor().First()
	return bytes.Clone(key)
}

func TestForeign(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gadget.db")
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	database, _ := os.ReadFile(path)
	for what, data := range map[string][]byte{
		"empty": {}, "text": []byte(strings.Repeat("hello ", 10_000)), "zeros": make([]byte, 1<<16), "another database": database,
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if !expectDamaged(t, what, path, data) {
			t.Errorf("%s: no error", what)
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, data) {
			t.Errorf("%s: the file was changed", what)
		}
	}
	os.Remove(path)
	os.Mkdir(path, 0o700)
	if _, err := storage.Open(path, nil); err == nil {
		t.Error("a folder was opened")
	}
}

// TestCutWhileOpen: reading a page that is gone is a fault in the memory map.
func TestCutWhileOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gadget.db")
	data := filled(t, path)
	s := mustOpen(t, path)
	defer s.Close()
	if err := os.Truncate(path, int64(len(data)/4)); err != nil {
		t.Fatal(err)
	}
	_, err := s.List(storage.ListOptions{})
	if !errors.Is(err, storage.ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("reading a file that was cut: %v, want ErrDamaged", err)
	}
}

// TestLoop makes a branch point at itself: bbolt would follow it until the process dies.
func TestLoop(t *testing.T) {
	t.Run("unclean", func(t *testing.T) { loop(t, false) })
	t.Run("clean", func(t *testing.T) { loop(t, true) })
}

func loop(t *testing.T, clean bool) {
	path := filepath.Join(t.TempDir(), "gadget.db")
	data := filled(t, path)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	loops := 0
	for at := 0; at < len(data); at += 4096 {
		if data[at+8] != 1 { // not a branch
			continue
		}
		copy(data[at+16+8:at+16+16], data[at:at+8])
		loops++
	}
	if loops == 0 {
		t.Fatal("the file has no branch")
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if clean {
		os.Chtimes(path, time.Time{}, info.ModTime())
	}
	if !expectDamaged(t, "a loop of pages", path, data) {
		t.Error("a loop of pages: no error")
	}
}
