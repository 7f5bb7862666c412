package image

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
)

// Key names what an image was made of. Equal keys must mean equal contents.
type Key [sha256.Size]byte

// KeyOf names a list of parts. No two lists read the same: each part has its length before it.
func KeyOf(parts ...[]byte) Key {
	h := sha256.New()
	for _, b := range parts {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(b))))
		h.Write(b)
	}
	return Key(h.Sum(nil))
}

const (
	// maxLaid is how many mappings all the memories of a Store may have together; the system counts them for the whole
	// process, usually to 65,530. Beyond it pages are copied.
	maxLaid = 20_000
	// maxUnused is how many images are kept that nobody uses.
	maxUnused = 64
	// maxAsked is how many keys are remembered that were asked for; then all are forgotten.
	maxAsked = 1 << 12
)

// Store holds images. Its methods may be called from any goroutine.
type Store struct {
	mu     sync.Mutex
	arena  arena
	byKey  map[Key]*entry
	sorted []*entry   // by their place in the arena
	unused *list.List // of *entry, the last used in front
	asked  map[Key]struct{}
	laid   int // mappings
}

// entry is one image in the arena.
type entry struct {
	key   Key
	runs  []Run
	size  uint32        // of the memory, in bytes
	at    int           // its place in the arena, in pages
	pages int           // in all runs
	users int           // how many Images there are of it
	place *list.Element // in unused, while users is 0
}

// Image is one user's hold on a start image.
type Image struct {
	store *Store
	entry *entry
	laid  int // mappings
}

// NewStore makes a store for at most so many bytes of images. It reserves its arena now, because a process without
// privileges cannot. With copied, or where the arena cannot be had, images are copied into each memory.
func NewStore(size int, copied bool) *Store {
	s := &Store{byKey: map[Key]*entry{}, unused: list.New(), asked: map[Key]struct{}{}, arena: &heap{size: size, parts: map[int][]byte{}}}
	if !copied {
		if a, err := newMapped(size); err == nil {
			s.arena = a
		}
	}
	return s
}

// Take returns a hold on the image of that key, or nil if there is none; again tells whether it was asked for before.
func (s *Store) Take(key Key) (im *Image, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, again = s.asked[key]; !again {
		if len(s.asked) == maxAsked {
			clear(s.asked)
		}
		s.asked[key] = struct{}{}
	}
	if e := s.byKey[key]; e != nil {
		im = s.useLocked(e)
	}
	return im, again
}

// Keep makes an image of the given runs of a memory, whose bytes it copies, and returns a hold on it. One of that key that
// is there already is returned if it is the same, else nil; nil also if there is no room. Images that nobody uses make
// room, the least recently used first.
func (s *Store) Keep(key Key, memory []byte, runs []Run) *Image {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byKey[key]; e != nil {
		if !s.equalLocked(e, memory, runs) {
			return nil
		}
		return s.useLocked(e)
	}
	e := &entry{key: key, runs: slices.Clone(runs), size: uint32(len(memory))}
	for _, r := range runs {
		e.pages += int(r.Pages)
	}
	for !s.placeLocked(e) {
		last := s.unused.Back()
		if last == nil {
			return nil
		}
		s.forgetLocked(last.Value.(*entry))
	}
	wrote := s.arena.write(e.at, e.pages, func(to []byte) {
		for _, r := range runs {
			to = to[copy(to, r.in(memory)):]
		}
	})
	if !wrote {
		s.forgetLocked(e)
		return nil
	}
	return s.useLocked(e)
}

// equalLocked tells whether an image holds these runs of this memory.
func (s *Store) equalLocked(e *entry, memory []byte, runs []Run) bool {
	if int(e.size) != len(memory) || !slices.Equal(e.runs, runs) {
		return false
	}
	held := s.arena.read(e.at, e.pages)
	for _, r := range runs {
		n := int(r.Pages) * PageSize
		if !bytes.Equal(held[:n], r.in(memory)) {
			return false
		}
		held = held[n:]
	}
	return true
}

func (s *Store) useLocked(e *entry) *Image {
	e.users++
	if e.place != nil {
		s.unused.Remove(e.place)
		e.place = nil
	}
	return &Image{store: s, entry: e}
}

// placeLocked finds room in the arena, the first gap that is large enough, and takes it.
func (s *Store) placeLocked(e *entry) bool {
	at, k := 0, 0
	for ; k < len(s.sorted) && s.sorted[k].at-at < e.pages; k++ {
		at = s.sorted[k].at + s.sorted[k].pages
	}
	if (at+e.pages)*PageSize > s.arena.bytes() {
		return false
	}
	e.at = at
	s.sorted = slices.Insert(s.sorted, k, e)
	s.byKey[e.key] = e
	return true
}

// forgetLocked drops an image that nobody uses, and gives its pages back to the system.
func (s *Store) forgetLocked(e *entry) {
	delete(s.byKey, e.key)
	if e.place != nil {
		s.unused.Remove(e.place)
		e.place = nil
	}
	s.sorted = slices.DeleteFunc(s.sorted, func(other *entry) bool { return other == e })
	s.arena.drop(e.at, e.pages)
}

// Size returns the size of the memory that the image was made of, in bytes.
func (im *Image) Size() uint32 { return im.entry.size }

// Lay puts the image's pages over a memory of at least its Size, which must be mapped page by page itself, and stay until
// Release. They become private mappings of the memory, or copies where the store copies. After an error the memory must
// not be used any more.
func (im *Image) Lay(memory []byte) error {
	s, e := im.store, im.entry
	s.mu.Lock()
	mapped := s.laid+len(e.runs) <= maxLaid
	if mapped {
		s.laid += len(e.runs)
		im.laid += len(e.runs)
	}
	held := s.arena.read(e.at, e.pages)
	s.mu.Unlock()
	skip := 0
	for _, r := range e.runs {
		if mapped {
			if err := s.arena.lay(r.in(memory), e.at, skip); err != nil {
				return err
			}
		} else {
			copy(r.in(memory), held[skip*PageSize:])
		}
		skip += int(r.Pages)
	}
	return nil
}

// Release ends one use of the image, once; what it was laid over is gone by now.
func (im *Image) Release() {
	s, e := im.store, im.entry
	s.mu.Lock()
	defer s.mu.Unlock()
	s.laid -= im.laid
	im.laid = 0
	if e.users--; e.users > 0 {
		return
	}
	e.place = s.unused.PushFront(e)
	if s.unused.Len() > maxUnused {
		s.forgetLocked(s.unused.Back().Value.(*entry))
	}
}

// Stats tells how many images there are, how many of them somebody uses, and how many bytes they take together.
func (s *Store) Stats() (images, used, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.sorted {
		size += e.pages * PageSize
	}
	return len(s.sorted), len(s.sorted) - s.unused.Len(), size
}
