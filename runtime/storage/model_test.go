package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
	"toolshed/runtime/storage"
)

// TestModel runs random programs on a store and on a plain map. Few and similar keys make collisions likely.
func TestModel(t *testing.T) {
	folder, n := t.TempDir(), 0
	keys := rapid.StringMatching(`[ab]{0,2}[ab\x00é😀]`)
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(folder, fmt.Sprint(n, ".db"))
		store, err := storage.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { store.Close() }()
		model, entries, alarm := map[string]string{}, [][]byte(nil), storage.Alarm{}
		t.Repeat(map[string]func(*rapid.T){
			"turn": func(t *rapid.T) {
				turn := drawTurn(t, keys)
				applyToModel(model, turn)
				if turn.Alarm != nil {
					alarm = *turn.Alarm
				}
				var entry []byte
				if rapid.IntRange(0, 3).Draw(t, "entry") == 0 {
					entry = drawValue(t)
					entries = append(entries, entry)
				}
				c := store.Apply(turn, entry)
				if rapid.Bool().Draw(t, "wait") {
					if err := c.Wait(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			},
			"list": func(t *rapid.T) {
				o := drawList(t, keys)
				got, err := store.List(o)
				want, size := listModel(model, o), int64(0)
				for _, e := range want {
					size += int64(len(e.Key)+len(e.Value)) + storage.EntryCost
				}
				if o.MaxBytes > 0 && size > o.MaxBytes {
					if !errors.Is(err, storage.ErrTooLarge) {
						t.Fatalf("%+v lists %d bytes (%v)", o, size, err)
					}
					return
				}
				if err != nil || !slices.EqualFunc(got, want, sameEntry) {
					t.Fatalf("%+v lists %d (%v), want %d: %.99q", o, len(got), err, len(want), got)
				}
			},
			"get": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				got, ok, err := store.Get(key)
				if want, has := model[key]; err != nil || ok != has || string(got) != want {
					t.Fatalf("%q is %.99q %v (%v), want %.99q %v", key, got, ok, err, want, has)
				}
			},
			"entries": func(t *rapid.T) {
				store.Apply(storage.Turn{}, nil).Wait(t.Context())
				n := 0
				err := store.Entries(0, func(sequence uint64, entry []byte) bool {
					n++
					return int(sequence) == n && bytes.Equal(entry, entries[n-1])
				})
				if err != nil || n != len(entries) {
					t.Fatalf("%d entries of %d (%v)", n, len(entries), err)
				}
			},
			"reopen": func(t *rapid.T) {
				if err := store.Close(); err != nil {
					t.Fatal(err)
				}
				if err := storage.Verify(path); err != nil {
					t.Fatal(err)
				}
				if rapid.Bool().Draw(t, "touched") {
					os.Chtimes(path, time.Time{}, time.Now())
				}
				var o *storage.Options
				if rapid.Bool().Draw(t, "compact") {
					o = storage.CompactAlways()
				}
				if store, err = storage.Open(path, o); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				if got, err := store.Alarm(); err != nil || got != alarm {
					t.Fatalf("the alarm is %+v (%v), want %+v", got, err, alarm)
				}
				size := 0
				for k, v := range model {
					size += len(k) + len(v)
				}
				if got := store.Stats().Bytes; got != int64(size) {
					t.Fatalf("the store counts %d bytes, want %d", got, size)
				}
			},
		})
	})
}

func sameEntry(a, b storage.Entry) bool { return a.Key == b.Key && bytes.Equal(a.Value, b.Value) }

func drawTurn(t *rapid.T, keys *rapid.Generator[string]) storage.Turn {
	turn := storage.Turn{Clear: rapid.IntRange(0, 9).Draw(t, "clear") == 0}
	for range rapid.IntRange(0, 4).Draw(t, "writes") {
		w := storage.Write{Key: keys.Draw(t, "key"), Delete: rapid.IntRange(0, 3).Draw(t, "delete") == 0}
		if !w.Delete {
			w.Value = drawValue(t)
		}
		turn.Writes = append(turn.Writes, w)
	}
	switch rapid.IntRange(0, 5).Draw(t, "alarm") {
	case 0:
		turn.Alarm = &storage.Alarm{}
	case 1:
		turn.Alarm = &storage.Alarm{Time: rapid.Int64Min(1).Draw(t, "time"), Due: rapid.Int64Min(1).Draw(t, "due"), Retry: rapid.IntRange(0, 6).Draw(t, "retry")}
	}
	return turn
}

// drawValue makes small values mostly, and now and then a large one out of few parts, so that values share chunks.
func drawValue(t *rapid.T) (value []byte) {
	if rapid.IntRange(0, 5).Draw(t, "large") > 0 {
		return []byte(rapid.StringN(0, 8, -1).Draw(t, "value"))
	}
	for range rapid.IntRange(1, 4).Draw(t, "parts") {
		value = append(value, parts[rapid.IntRange(0, len(parts)-1).Draw(t, "part")]...)
	}
	return value
}

var parts = [][]byte{noise(1, 70_000), noise(2, 64<<10), noise(3, 30_000), make([]byte, 150_000), []byte("x")}

func applyToModel(model map[string]string, turn storage.Turn) {
	if turn.Clear {
		clear(model)
	}
	for _, w := range turn.Writes {
		if delete(model, w.Key); !w.Delete {
			model[w.Key] = string(w.Value)
		}
	}
}

func drawList(t *rapid.T, keys *rapid.Generator[string]) storage.ListOptions {
	bound := rapid.OneOf(rapid.Just(""), keys)
	return storage.ListOptions{
		Start: bound.Draw(t, "start"), StartAfter: bound.Draw(t, "startAfter"), End: bound.Draw(t, "end"),
		Prefix:  rapid.SampledFrom([]string{"", "", "a", "b", "ab", "é"}).Draw(t, "prefix"),
		Reverse: rapid.Bool().Draw(t, "reverse"), Limit: rapid.IntRange(0, 5).Draw(t, "limit"),
		MaxBytes: rapid.SampledFrom([]int64{0, 0, 1, 150, 100_000}).Draw(t, "maxBytes"),
	}
}

// listModel is List in the plainest words.
func listModel(model map[string]string, o storage.ListOptions) (list []storage.Entry) {
	for key, value := range model {
		if key >= o.Start && (o.StartAfter == "" || key > o.StartAfter) && (o.End == "" || key < o.End) && strings.HasPrefix(key, o.Prefix) {
			list = append(list, storage.Entry{Key: key, Value: []byte(value)})
		}
	}
	slices.SortFunc(list, func(a, b storage.Entry) int { return strings.Compare(a.Key, b.Key) })
	if o.Reverse {
		slices.Reverse(list)
	}
	if o.Limit > 0 && len(list) > o.Limit {
		list = list[:o.Limit]
	}
	return list
}
