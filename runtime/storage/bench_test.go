package storage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"toolshed/runtime/storage"
)

func openBench(b *testing.B) *storage.Store {
	s, err := storage.Open(filepath.Join(b.TempDir(), "gadget.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// BenchmarkTurn is one turn after the other, each waited for.
func BenchmarkTurn(b *testing.B) {
	s := openBench(b)
	for n := 0; b.Loop(); n++ {
		if err := s.Apply(turn(fmt.Sprint(n%100), "value"), nil).Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTurns64 is 64 turns in flight: they share syncs.
func BenchmarkTurns64(b *testing.B) {
	s := openBench(b)
	flight := make(chan *storage.Commit, 64)
	for n := 0; b.Loop(); n++ {
		if len(flight) == cap(flight) {
			if err := (<-flight).Wait(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		flight <- s.Apply(turn(fmt.Sprint(n%100), "value"), nil)
	}
	b.ReportMetric(float64(s.Stats().Turns)/float64(max(1, s.Stats().Commits)), "turns/commit")
}

func BenchmarkGet(b *testing.B) {
	s := openBench(b)
	s.Apply(turn("key", "value"), nil).Wait(b.Context())
	for b.Loop() {
		if _, ok, err := s.Get("key"); !ok || err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen opens a file of 10 MB: as it was closed, and as a crash leaves it.
func BenchmarkOpen(b *testing.B) {
	for shape, fill := range map[string]func(s *storage.Store){
		"values": func(s *storage.Store) {
			for n := range 1000 {
				s.Apply(turn(fmt.Sprint(n), strings.Repeat("v", 10_000)), nil)
			}
		},
		"document": func(s *storage.Store) { s.Apply(turn("document", string(noise(1, 10<<20))), nil) },
	} {
		for _, clean := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/clean=%v", shape, clean), func(b *testing.B) {
				path := filepath.Join(b.TempDir(), "gadget.db")
				s, err := storage.Open(path, nil)
				if err != nil {
					b.Fatal(err)
				}
				fill(s)
				s.Close()
				for b.Loop() {
					if !clean {
						os.Chtimes(path, time.Time{}, time.Now())
					}
					if s, err = storage.Open(path, nil); err != nil {
						b.Fatal(err)
					}
					s.Close()
				}
			})
		}
	}
}

// BenchmarkLarge writes and reads a document of 10 MB; each write changes one byte of it.
func BenchmarkLarge(b *testing.B) {
	document := noise(1, 10<<20)
	s := openBench(b)
	edit := func(b *testing.B) {
		document = slices.Clone(document)
		document[len(document)/2]++
		if err := s.Apply(turn("document", string(document)), nil).Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	edit(b)
	b.Run("edit", func(b *testing.B) {
		for b.Loop() {
			edit(b)
		}
	})
	b.Run("get", func(b *testing.B) {
		for b.Loop() {
			if _, ok, err := s.Get("document"); !ok || err != nil {
				b.Fatal(err)
			}
		}
	})
}
