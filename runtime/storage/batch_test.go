package storage_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"toolshed/runtime/storage"
)

// A turn of many small writes costs about the same in whatever order its keys are written.
func TestOrderOfKeysCostsNothing(t *testing.T) {
	const n = 60_000
	commit := func(sorted bool) time.Duration {
		var turn storage.Turn
		for k := range n {
			turn.Writes = append(turn.Writes, storage.Write{Key: fmt.Sprintf("%07d", k*7919%1000003)})
		}
		if sorted {
			slices.SortFunc(turn.Writes, func(a, b storage.Write) int { return strings.Compare(a.Key, b.Key) })
		}
		store, err := storage.Open(filepath.Join(t.TempDir(), "x.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		from := time.Now()
		if err := store.Apply(turn, nil).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		return time.Since(from)
	}
	var sorted, mixed time.Duration
	for range 3 { // other work on the machine may slow one of them down
		if sorted, mixed = commit(true), commit(false); mixed < 4*sorted {
			return
		}
	}
	t.Errorf("%d keys take %v in order, %v in another", n, sorted, mixed)
}

// The last write of a key in a commit counts, and nothing from before a Clear.
func TestTurnsOfOneCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	store, err := storage.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("large value ", 20_000)
	set := func(key, value string) storage.Write { return storage.Write{Key: key, Value: []byte(value)} }
	turns := []storage.Turn{
		{Writes: []storage.Write{set("gone", large), set("again", "1")}},
		{Clear: true, Writes: []storage.Write{set("z", "1"), set("a", large), set("m", "1"), {Key: "m", Delete: true}}},
		{Writes: []storage.Write{set("again", large), set("z", "2"), set("a", "small"), set("m", "2")}},
		{Writes: []storage.Write{{Key: "z", Delete: true}, set("again", large+"!")}},
	}
	// A first turn holds the writer, so that the others most likely wait together; the outcome is the same if not.
	store.Apply(storage.Turn{Writes: []storage.Write{set("held", strings.Repeat(large, 20))}}, nil)
	var last *storage.Commit
	for n, turn := range turns {
		last = store.Apply(turn, fmt.Append(nil, n))
	}
	if err := last.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := storage.Verify(path); err != nil {
		t.Fatal(err)
	}
	if store, err = storage.Open(path, nil); err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	got, err := store.List(storage.ListOptions{})
	want := []storage.Entry{{Key: "a", Value: []byte("small")}, {Key: "again", Value: []byte(large + "!")}, {Key: "m", Value: []byte("2")}}
	if err != nil || !slices.EqualFunc(got, want, sameEntry) {
		t.Fatalf("%d entries, %v", len(got), err)
	}
	entries := ""
	if err := store.Entries(0, func(_ uint64, e []byte) bool { entries += string(e); return true }); err != nil || entries != "0123" {
		t.Fatal(entries, err)
	}
}

// A list that is too large is not read first.
func TestTooLargeListStopsEarly(t *testing.T) {
	store, err := storage.Open(filepath.Join(t.TempDir(), "x.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var turn storage.Turn
	for k := range 16 {
		turn.Writes = append(turn.Writes, storage.Write{Key: fmt.Sprint("k", k), Value: fmt.Append(nil, k, strings.Repeat("x", 1<<20))})
	}
	if err := store.Apply(turn, nil).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // from the file, then from the overlay
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = store.List(storage.ListOptions{MaxBytes: 2_500_000})
		runtime.ReadMemStats(&after)
		if !errors.Is(err, storage.ErrTooLarge) {
			t.Fatal(err)
		}
		if read := after.TotalAlloc - before.TotalAlloc; read > 8<<20 {
			t.Fatalf("%d bytes were read for a list of at most 2,500,000", read)
		}
		store.Apply(turn, nil)
	}
	list, err := store.List(storage.ListOptions{MaxBytes: 2_500_000, Limit: 2, Reverse: true})
	if err != nil || len(list) != 2 || list[0].Key != "k9" || list[1].Key != "k8" {
		t.Fatal(len(list), err)
	}
	if _, err := store.List(storage.ListOptions{MaxBytes: 10}); !errors.Is(err, storage.ErrTooLarge) {
		t.Fatal(err)
	}
}

// Turns that are taken back leave no trace; those on their way to the disk are not.
func TestDrop(t *testing.T) {
	release, inCommit := make(chan struct{}), make(chan struct{})
	first := true
	store := storage.OpenFailing(func() error {
		if first {
			first = false
			close(inCommit)
			<-release
		}
		return nil
	})
	defer store.Close()
	let := sync.OnceFunc(func() { close(release) })
	defer let()
	put := func(key string) *storage.Commit {
		return store.Apply(storage.Turn{Writes: []storage.Write{{Key: key, Value: []byte("value")}}}, nil)
	}
	one := put("one")
	<-inCommit
	two, three := put("two"), put("three")
	four := store.Apply(storage.Turn{Clear: true, Writes: []storage.Write{{Key: "four"}}}, nil)
	three.Drop()
	for n, c := range []*storage.Commit{three, four} {
		select {
		case <-c.Done():
		case <-time.After(10 * time.Second):
			t.Fatal("a dropped turn is still waited for")
		}
		if err := c.Wait(t.Context()); !errors.Is(err, storage.ErrDropped) {
			t.Fatal(n, err)
		}
	}
	keys := func() (s string) {
		list, err := store.List(storage.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			s += e.Key + " "
		}
		return s
	}
	if got := keys(); got != "one two " || store.Stats().Bytes != 16 {
		t.Fatalf("%q, %d bytes", got, store.Stats().Bytes)
	}
	one.Drop()
	if got := keys(); got != "one " || store.Stats().Bytes != 8 {
		t.Fatalf("%q, %d bytes", got, store.Stats().Bytes)
	}
	let()
	if err := one.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := two.Wait(t.Context()); !errors.Is(err, storage.ErrDropped) {
		t.Fatal(err)
	}
	if err := put("five").Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := keys(); got != "five one " || store.Stats().Bytes != 17 {
		t.Fatalf("%q, %d bytes", got, store.Stats().Bytes)
	}
}
