// Package storagetest is the conformance suite for what a gadget's storage promises. Every kind of store runs it:
//
//	storagetest.Suite{Open: …}.Run(t)
package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"toolshed/runtime/storage"
)

// Suite describes one kind of store.
type Suite struct {
	// Open returns an empty store; the suite closes it.
	Open func(t *testing.T, o *storage.Options) *storage.Store
	// Reopen closes the store and opens it again; nil for a store that keeps nothing.
	Reopen func(t *testing.T, s *storage.Store) *storage.Store
}

// Run runs every property as a subtest.
func (s Suite) Run(t *testing.T) {
	t.Run("visible at once", s.testVisible)
	t.Run("durable", s.testDurable)
	t.Run("clear", s.testClear)
	t.Run("order of keys", s.testOrder)
	t.Run("list options", s.testList)
	t.Run("keys", s.testKeys)
	t.Run("values are copies", s.testCopies)
	t.Run("entries", s.testEntries)
	t.Run("large values", s.testLarge)
	t.Run("large values count once", s.testLargeQuota)
	t.Run("quota", s.testQuota)
	t.Run("order of commits", s.testCommitOrder)
	t.Run("alarm", s.testAlarm)
	t.Run("alarms are announced", s.testAnnounced)
	t.Run("closed", s.testClosed)
	t.Run("many goroutines", s.testParallel)
}

func (s Suite) open(t *testing.T) *storage.Store {
	t.Helper()
	store := s.Open(t, nil)
	t.Cleanup(func() { store.Close() })
	return store
}

func (s Suite) testVisible(t *testing.T) {
	store := s.open(t)
	c := store.Apply(put("a", "1"), nil)
	expect(t, store, "a", "1")
	expectList(t, store, storage.ListOptions{}, "a")
	wait(t, c)
	expect(t, store, "a", "1")
	store.Apply(storage.Turn{Writes: []storage.Write{{Key: "a", Value: []byte("2")}, {Key: "a", Value: []byte("3")}}}, nil)
	expect(t, store, "a", "3")
	wait(t, store.Apply(storage.Turn{Writes: []storage.Write{{Key: "a", Delete: true}}}, nil))
	expectNone(t, store, "a")
	expectList(t, store, storage.ListOptions{})
}

func (s Suite) testDurable(t *testing.T) {
	if s.Reopen == nil {
		t.Skip("keeps nothing")
	}
	store := s.open(t)
	big := strings.Repeat("x", 10<<20)
	wait(t, store.Apply(put("a", "1"), nil))
	wait(t, store.Apply(put("b", big), nil))
	wait(t, store.Apply(put("empty", ""), nil))
	before := store.Stats().Bytes
	store.Apply(storage.Turn{Writes: []storage.Write{{Key: "a", Delete: true}}}, nil) // Close commits what is pending
	store = s.Reopen(t, store)
	defer store.Close()
	expectNone(t, store, "a")
	expect(t, store, "b", big)
	expect(t, store, "empty", "")
	if got := store.Stats().Bytes; got != before-2 {
		t.Errorf("the reopened store counts %d bytes, want %d", got, before-2)
	}
}

func (s Suite) testClear(t *testing.T) {
	store := s.open(t)
	wait(t, store.Apply(put("a", "1"), nil))
	c := store.Apply(storage.Turn{Clear: true, Writes: []storage.Write{{Key: "b", Value: []byte("2")}}}, nil)
	expectNone(t, store, "a")
	expectList(t, store, storage.ListOptions{}, "b")
	wait(t, c)
	expectNone(t, store, "a")
	expectList(t, store, storage.ListOptions{}, "b")
	if got := store.Stats().Bytes; got != 2 {
		t.Errorf("the store counts %d bytes, want 2", got)
	}
}

func (s Suite) testOrder(t *testing.T) {
	store := s.open(t)
	// In UTF-8 the emoji comes after U+FFFD; in UTF-16 it would come before.
	keys := []string{"", "a", "a\x00", "aa", "b", "é", "\uFFFD", "😀"}[1:]
	for n := range keys {
		c := store.Apply(put(keys[len(keys)-1-n], "v"), nil)
		if n%2 == 0 {
			wait(t, c) // half of them in the backend, half in the overlay
		}
	}
	expectList(t, store, storage.ListOptions{}, keys...)
	expectList(t, store, storage.ListOptions{Reverse: true}, reversed(keys)...)
}

func (s Suite) testList(t *testing.T) {
	store := s.open(t)
	wait(t, store.Apply(puts("a", "ab", "b", "ba", "bb", "c", "d"), nil))
	store.Apply(storage.Turn{Writes: []storage.Write{
		{Key: "aa", Value: []byte("aa")}, {Key: "ba", Delete: true}, {Key: "bb", Value: []byte("new")}, {Key: "e", Value: []byte("e")},
	}}, nil)
	for name, c := range map[string]struct {
		o    storage.ListOptions
		want string
	}{
		"all":                {storage.ListOptions{}, "a aa ab b bb c d e"},
		"start":              {storage.ListOptions{Start: "b"}, "b bb c d e"},
		"start between":      {storage.ListOptions{Start: "ba"}, "bb c d e"},
		"start after":        {storage.ListOptions{StartAfter: "b"}, "bb c d e"},
		"end":                {storage.ListOptions{End: "b"}, "a aa ab"},
		"start and end":      {storage.ListOptions{Start: "aa", End: "c"}, "aa ab b bb"},
		"prefix":             {storage.ListOptions{Prefix: "a"}, "a aa ab"},
		"prefix and start":   {storage.ListOptions{Prefix: "b", Start: "bb"}, "bb"},
		"prefix and end":     {storage.ListOptions{Prefix: "a", End: "ab"}, "a aa"},
		"limit":              {storage.ListOptions{Limit: 3}, "a aa ab"},
		"limit after delete": {storage.ListOptions{Start: "b", Limit: 2}, "b bb"},
		"reverse":            {storage.ListOptions{Reverse: true}, "e d c bb b ab aa a"},
		"reverse limit":      {storage.ListOptions{Reverse: true, Limit: 2}, "e d"},
		"reverse prefix":     {storage.ListOptions{Reverse: true, Prefix: "b"}, "bb b"},
		"reverse end":        {storage.ListOptions{Reverse: true, End: "c", Limit: 1}, "bb"},
		"empty range":        {storage.ListOptions{Start: "c", End: "b"}, ""},
		"empty prefix range": {storage.ListOptions{Prefix: "x", Reverse: true}, ""},
	} {
		t.Run(name, func(t *testing.T) { expectList(t, store, c.o, strings.Fields(c.want)...) })
	}
	expect(t, store, "bb", "new")
}

func (s Suite) testKeys(t *testing.T) {
	for name, key := range map[string]string{"empty": "", "long": strings.Repeat("k", storage.MaxKey+1)} {
		store := s.open(t)
		expectNone(t, store, key)
		if err := store.Apply(put(key, "v"), nil).Wait(t.Context()); !errors.Is(err, storage.ErrKey) {
			t.Errorf("%s key: got %v, want ErrKey", name, err)
		}
		if _, _, err := store.Get("a"); !errors.Is(err, storage.ErrClosed) {
			t.Errorf("%s key: the store went on after a failed turn (%v)", name, err)
		}
	}
	store, longest := s.open(t), strings.Repeat("k", storage.MaxKey)
	wait(t, store.Apply(put(longest, "v"), nil))
	expect(t, store, longest, "v")
}

func (s Suite) testCopies(t *testing.T) {
	store := s.open(t)
	c := store.Apply(put("a", "1"), nil)
	for range 2 {
		value, _, _ := store.Get("a")
		value[0] = 'x'
		list, _ := store.List(storage.ListOptions{})
		list[0].Value[0] = 'y'
		expect(t, store, "a", "1")
		wait(t, c)
	}
}

func (s Suite) testEntries(t *testing.T) {
	store := s.open(t)
	store.Apply(put("a", "1"), []byte("one"))
	store.Apply(put("a", "2"), nil)
	wait(t, store.Apply(put("a", "3"), []byte("three")))
	read := func(after uint64) (got []string) {
		err := store.Entries(after, func(n uint64, entry []byte) bool {
			got = append(got, fmt.Sprintf("%d=%s", n, entry))
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := fmt.Sprint(read(0), read(1), read(2)); got != "[1=one 2=three] [2=three] []" {
		t.Errorf("entries are %s", got)
	}
}

// testLarge: values far above any page are replaced, shared between keys and entries, cleared, and read in parts.
func (s Suite) testLarge(t *testing.T) {
	store := s.open(t)
	one := Noise(1, 300_000)
	edited := one[:150_000] + "!" + one[150_001:]
	all := func(want map[string]string, entries ...string) {
		t.Helper()
		total := 0
		for key, value := range want {
			expect(t, store, key, value)
			total += len(key) + len(value)
		}
		list, err := store.List(storage.ListOptions{})
		if err != nil || len(list) != len(want) {
			t.Fatalf("%d entries, want %d (%v)", len(list), len(want), err)
		}
		for _, e := range list {
			if string(e.Value) != want[e.Key] {
				t.Errorf("%q lists another value", e.Key)
			}
		}
		if got := store.Stats().Bytes; got != int64(total) {
			t.Errorf("the store counts %d bytes, want %d", got, total)
		}
		err = store.Entries(0, func(n uint64, entry []byte) bool {
			if int(n) > len(entries) || string(entry) != entries[n-1] {
				t.Errorf("entry %d is %.20q", n, entry)
			}
			return true
		})
		if err != nil {
			t.Error(err)
		}
	}
	wait(t, store.Apply(put("a", one), nil))
	all(map[string]string{"a": one})
	wait(t, store.Apply(put("b", one), []byte(edited)))
	all(map[string]string{"a": one, "b": one}, edited)
	store.Apply(put("a", "small"), nil)
	wait(t, store.Apply(put("a", edited), nil))
	all(map[string]string{"a": edited, "b": one}, edited)
	wait(t, store.Apply(storage.Turn{Writes: []storage.Write{{Key: "b", Delete: true}}}, nil))
	all(map[string]string{"a": edited}, edited)
	wait(t, store.Apply(storage.Turn{Clear: true, Writes: []storage.Write{{Key: "c", Value: []byte(edited)}, {Key: "c", Value: []byte(one)}}}, nil))
	all(map[string]string{"c": one}, edited)
	wait(t, store.Apply(storage.Turn{Clear: true}, nil))
	all(map[string]string{}, edited)
	same := strings.Repeat("same ", 100_000) // one chunk many times
	wait(t, store.Apply(put("s", same), []byte("small")))
	all(map[string]string{"s": same}, edited, "small")
	if s.Reopen != nil {
		store = s.Reopen(t, store)
		t.Cleanup(func() { store.Close() })
		all(map[string]string{"s": same}, edited, "small")
	}
}

// testLargeQuota: a value counts with its own size, however it is kept and whatever it shares.
func (s Suite) testLargeQuota(t *testing.T) {
	store := s.Open(t, &storage.Options{Quota: 500_002})
	defer store.Close()
	value := Noise(2, 250_000)
	wait(t, store.Apply(put("a", value), nil))
	wait(t, store.Apply(put("b", value), nil)) // exactly the quota
	wait(t, store.Apply(put("b", value[1:]), nil))
	wait(t, store.Apply(put("b", value), nil))
	if err := store.Apply(put("c", value), nil).Wait(t.Context()); !errors.Is(err, storage.ErrQuota) {
		t.Errorf("a third value: %v, want ErrQuota", err)
	}
}

// Noise returns bytes that repeat nowhere, the same for the same seed.
func Noise(seed byte, size int) string {
	b := make([]byte, size)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return string(b)
}

func (s Suite) testQuota(t *testing.T) {
	store := s.Open(t, &storage.Options{Quota: 10})
	defer store.Close()
	wait(t, store.Apply(put("abc", "1234567"), nil)) // exactly 10 bytes
	wait(t, store.Apply(put("abc", "7654321"), nil)) // the same size again
	wait(t, store.Apply(storage.Turn{Clear: true, Writes: []storage.Write{{Key: "d", Value: []byte("123456789")}}}, nil))
	kept := store.Apply(put("d", "1"), nil)
	if err := store.Apply(put("long", "1234567"), nil).Wait(t.Context()); !errors.Is(err, storage.ErrQuota) {
		t.Errorf("got %v, want ErrQuota", err)
	}
	wait(t, kept) // an earlier turn is not touched
	if err := store.Apply(put("d", "2"), nil).Wait(t.Context()); !errors.Is(err, storage.ErrClosed) || !errors.Is(err, storage.ErrQuota) {
		t.Errorf("a turn after a failed one: got %v, want ErrClosed and its cause", err)
	}
	if s.Reopen != nil {
		store = s.Reopen(t, store)
		defer store.Close()
		expect(t, store, "d", "1")
	}
}

func (s Suite) testCommitOrder(t *testing.T) {
	store := s.open(t)
	var commits []*storage.Commit
	for n := range 200 {
		commits = append(commits, store.Apply(put("n", fmt.Sprint(n)), nil))
	}
	wait(t, commits[len(commits)-1])
	for n, c := range commits {
		select {
		case <-c.Done():
		default:
			t.Fatalf("turn 199 is durable before turn %d", n)
		}
	}
	if st := store.Stats(); st.Turns != 200 || st.Commits >= 200 {
		t.Errorf("%d turns took %d commits: waiting turns must share one", st.Turns, st.Commits)
	}
}

func (s Suite) testClosed(t *testing.T) {
	store := s.open(t)
	c := store.Apply(put("a", "1"), nil)
	for range 2 {
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, c)
	if err := store.Apply(put("a", "2"), nil).Wait(t.Context()); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("Apply after Close: %v", err)
	}
	if _, _, err := store.Get("a"); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("Get after Close: %v", err)
	}
	if _, err := store.List(storage.ListOptions{}); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("List after Close: %v", err)
	}
}

// testParallel: a turn writes two keys alike; nobody may ever see them differ.
func (s Suite) testParallel(t *testing.T) {
	store := s.open(t)
	wait(t, store.Apply(puts("x", "y"), nil))
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for n := range 50 {
				v := []byte(fmt.Sprint(g, n))
				store.Apply(storage.Turn{Writes: []storage.Write{{Key: "x", Value: v}, {Key: "y", Value: v}}}, v)
			}
		})
		group.Go(func() {
			for range 50 {
				list, err := store.List(storage.ListOptions{})
				if err != nil || len(list) != 2 {
					t.Errorf("a torn read: %v (%v)", list, err)
					return
				}
				if string(list[0].Value) != "x" && !bytes.Equal(list[0].Value, list[1].Value) {
					t.Errorf("a torn read: %q and %q", list[0].Value, list[1].Value)
					return
				}
			}
		})
	}
	group.Wait()
}

func put(key, value string) storage.Turn {
	return storage.Turn{Writes: []storage.Write{{Key: key, Value: []byte(value)}}}
}

// puts sets every key to its own name.
func puts(keys ...string) (t storage.Turn) {
	for _, key := range keys {
		t.Writes = append(t.Writes, storage.Write{Key: key, Value: []byte(key)})
	}
	return t
}

func wait(t *testing.T, c *storage.Commit) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := c.Wait(ctx); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, s *storage.Store, key, want string) {
	t.Helper()
	got, ok, err := s.Get(key)
	if err != nil || !ok || string(got) != want {
		t.Errorf("%q is %.40q, %v (%v), want %.40q", key, got, ok, err, want)
	}
}

func expectNone(t *testing.T, s *storage.Store, key string) {
	t.Helper()
	if got, ok, err := s.Get(key); ok || err != nil {
		t.Errorf("%.40q is %.40q (%v), want none", key, got, err)
	}
}

func expectList(t *testing.T, s *storage.Store, o storage.ListOptions, want ...string) {
	t.Helper()
	list, err := s.List(o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, e.Key)
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("%+v lists %q, want %q", o, got, want)
	}
}

func reversed(keys []string) (r []string) {
	for n := range keys {
		r = append(r, keys[len(keys)-1-n])
	}
	return r
}
