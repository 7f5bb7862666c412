package image

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"testing"
)

// TestDifferFindsEveryPage: laying what differs over the base gives the memory again, whatever was joined.
func TestDifferFindsEveryPage(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		base, now := make([]byte, PageSize*rnd.IntN(40)), make([]byte, PageSize*(40+rnd.IntN(20)))
		fill(rnd, base)
		copy(now, base)
		for range rnd.IntN(30) {
			now[rnd.IntN(len(now))]++
		}
		most := 1 + rnd.IntN(8)
		runs := Differ(base, now, most)
		if len(runs) > most {
			t.Fatalf("%d runs, at most %d were asked for", len(runs), most)
		}
		got := make([]byte, len(now))
		copy(got, base)
		end := uint32(0)
		for _, r := range runs {
			if r.Pages == 0 || r.Page < end {
				t.Fatalf("the runs are not in order: %v", runs)
			}
			end = r.Page + r.Pages
			copy(r.in(got), r.in(now))
		}
		if !bytes.Equal(got, now) {
			t.Fatal("a page was missed")
		}
	}
	if runs := Differ(make([]byte, 2*PageSize), make([]byte, 3*PageSize), 4); len(runs) != 0 {
		t.Fatalf("zeros differ: %v", runs)
	}
}

func fill(rnd *rand.Rand, b []byte) {
	for k := range b {
		b[k] = byte(rnd.Uint32())
	}
}

// stores are the ways to keep images; on systems that cannot map, both are the same.
func stores(t *testing.T, size int, f func(t *testing.T, s *Store)) {
	for name, copied := range map[string]bool{"mapped": false, "copied": true} {
		t.Run(name, func(t *testing.T) {
			s := NewStore(size, copied)
			if _, is := s.arena.(*heap); runtime.GOOS == "linux" && is != copied {
				t.Fatalf("the arena is a %T", s.arena)
			}
			f(t, s)
		})
	}
}

func TestAnImageIsSharedAndNeverChanges(t *testing.T) {
	stores(t, 64*PageSize, func(t *testing.T, s *Store) {
		now := memory(t, 8)
		now[0], now[5*PageSize+7] = 1, 2
		runs := Differ(nil, now, 8)
		first := s.Keep(Key{1}, now, runs)
		if first == nil || first.Size() != 8*PageSize {
			t.Fatal("the image was not kept")
		}
		for range 3 {
			im, _ := s.Take(Key{1})
			to := memory(t, 8)
			if err := im.Lay(to); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(to, now) {
				t.Fatal("the memory is not as it was kept")
			}
			for k := range to { // what one writes is its own
				to[k] = 9
			}
		}
		if im, again := s.Take(Key{2}); im != nil || again {
			t.Fatal("another key has an image")
		}
		if again := s.Keep(Key{1}, now, runs); again == nil || again.entry != first.entry {
			t.Fatal("the same image was not found again")
		}
		now[0] = 3
		if s.Keep(Key{1}, now, runs) != nil {
			t.Fatal("another memory was taken for the same")
		}
	})
}

// An image in use stays whatever comes; one that nobody uses makes room, the least recently used first.
func TestOnlyUnusedImagesMakeRoom(t *testing.T) {
	stores(t, 8*PageSize, func(t *testing.T, s *Store) {
		keep := func(n byte) *Image {
			now := memory(t, 2)
			now[0], now[PageSize] = n, n
			return s.Keep(Key{n}, now, []Run{{0, 2}})
		}
		var held []*Image
		for n := range byte(4) {
			held = append(held, keep(n))
		}
		if keep(9) != nil {
			t.Fatal("there is room although everything is in use")
		}
		held[2].Release()
		held[1].Release()
		if im, _ := s.Take(Key{2}); im == nil { // now the image 1 is the only one that nobody uses
			t.Fatal("an unused image is gone without need")
		}
		if keep(9) == nil {
			t.Fatal("an unused image does not make room")
		}
		if im, _ := s.Take(Key{1}); im != nil {
			t.Fatal("the image that made room is still there")
		}
		for _, n := range []byte{0, 2, 3, 9} {
			im, _ := s.Take(Key{n})
			to := memory(t, 2)
			if im == nil || im.Lay(to) != nil || to[0] != n || to[PageSize] != n {
				t.Fatalf("the image %d is damaged: %v", n, to[0])
			}
		}
		if images, used, size := s.Stats(); images != 4 || used != 4 || size != 8*PageSize {
			t.Fatal(images, used, size)
		}
	})
}

func TestUnusedImagesAreBounded(t *testing.T) {
	stores(t, 1<<20, func(t *testing.T, s *Store) {
		now := memory(t, 1)
		for n := range 3 * maxUnused {
			now[0] = byte(n)
			s.Keep(Key{byte(n)}, now, []Run{{0, 1}}).Release()
		}
		if images, used, _ := s.Stats(); images != maxUnused || used != 0 {
			t.Fatal(images, used)
		}
	})
}

// TestImagesComeAndGo keeps a model beside a store: every image in use reads as it was kept, places never overlap, and the
// bounds hold.
func TestImagesComeAndGo(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	stores(t, 40*PageSize, func(t *testing.T, s *Store) {
		type use struct {
			im   *Image
			fill byte
			to   []byte
		}
		var uses []use
		for range 2000 {
			if len(uses) > 0 && rnd.IntN(2) == 0 {
				k := rnd.IntN(len(uses))
				for _, b := range uses[k].to {
					if b != uses[k].fill {
						t.Fatal("an image in use changed")
					}
				}
				uses[k].im.Release()
				uses[k] = uses[len(uses)-1]
				uses = uses[:len(uses)-1]
				continue
			}
			key := byte(rnd.IntN(30))
			im, _ := s.Take(Key{key})
			pages := uint32(key%7 + 1)
			if im == nil {
				now := bytes.Repeat([]byte{key + 1}, int(pages)*PageSize)
				if im = s.Keep(Key{key}, now, []Run{{0, pages}}); im == nil {
					continue
				}
			}
			to := memory(t, int(pages))
			if err := im.Lay(to); err != nil {
				t.Fatal(err)
			}
			uses = append(uses, use{im, key + 1, to})
			end := 0
			for _, e := range s.sorted {
				if e.at < end {
					t.Fatal("two images overlap")
				}
				end = e.at + e.pages
			}
			if end > 40 {
				t.Fatal("the arena is overfull")
			}
		}
		for _, u := range uses {
			u.im.Release()
		}
		if s.laid != 0 {
			t.Fatalf("%d mappings are still counted", s.laid)
		}
	})
}

func TestPastTheBoundOfMappingsPagesAreCopied(t *testing.T) {
	stores(t, 1<<20, func(t *testing.T, s *Store) {
		now := bytes.Repeat([]byte{5}, PageSize)
		im := s.Keep(Key{1}, now, []Run{{0, 1}})
		s.laid = maxLaid
		to := memory(t, 1)
		if err := im.Lay(to); err != nil || !bytes.Equal(to, now) {
			t.Fatal(err)
		}
		if im.Release(); s.laid != maxLaid {
			t.Fatalf("%d mappings are counted", s.laid)
		}
	})
}

// A key is known from the second time on, whether or not there is an image, and how many are remembered is bounded.
func TestWhatWasAskedForIsRemembered(t *testing.T) {
	s := NewStore(1<<20, true)
	ask := func(n int) bool {
		_, again := s.Take(KeyOf([]byte{byte(n), byte(n >> 8), byte(n >> 16)}))
		return again
	}
	for n := range maxAsked {
		if ask(n) || !ask(n) {
			t.Fatal(n)
		}
	}
	if ask(maxAsked) || len(s.asked) != 1 || !ask(maxAsked) {
		t.Errorf("%d are remembered", len(s.asked))
	}
}
