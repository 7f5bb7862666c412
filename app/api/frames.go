package api

import (
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"
)

// frames are the frame documents that were minted and not fetched yet. A document's address is 128 random bits; it can be
// fetched once, within frameLife.
type frames struct {
	mu   sync.Mutex
	open map[string]time.Time
}

const (
	frameLife = time.Minute
	maxFrames = 256 // minted and not fetched; the oldest makes room
)

func (f *frames) mint() string {
	var b [16]byte
	rand.Read(b[:])
	id := hex.EncodeToString(b[:])
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil {
		f.open = map[string]time.Time{}
	}
	oldest := ""
	for id, at := range f.open {
		if time.Since(at) > frameLife {
			delete(f.open, id)
		} else if oldest == "" || at.Before(f.open[oldest]) {
			oldest = id
		}
	}
	if len(f.open) >= maxFrames {
		delete(f.open, oldest)
	}
	f.open[id] = time.Now()
	return id
}

func (f *frames) take(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, minted := f.open[id]
	delete(f.open, id)
	return minted && time.Since(at) <= frameLife
}
