// Package storage keeps what a gadget stores: an ordered map from keys to opaque bytes, changed in turns.
//
// A Store is one file for one gadget (Open) or lives in memory (OpenMemory); both behave alike. Apply makes a
// turn's writes visible to Get and List at once and hands them to one writer, which commits all turns that wait
// in one transaction with one sync, in the order of Apply. A turn is durable when its Commit says so; after a
// crash the file holds a prefix of the turns, each of them whole.
//
// A turn that fails takes every later turn with it, because those were built on it: the store then refuses all
// work with ErrClosed until it is opened again. What was durable stays. Turns that are not yet on their way to the
// disk can be taken back with Commit.Drop.
//
// Values of more than 64 KiB are kept as chunks that their content cuts, each once: a small edit of a large value
// writes the chunks it touches. They are verified when they are read, and count towards the quota with their size.
//
// Besides its keys a store has an Alarm, which turns set like keys; it says when, and leaves it to others to wake anyone.
//
// A file that is not whole gives ErrDamaged and is never changed; Backup makes copies to go back to with Restore.
//
// Keys are ordered by their UTF-8 bytes. No file transaction outlives one method.
package storage

import (
	"errors"
	"fmt"
)

// MaxKey is the longest key in bytes.
const MaxKey = 2048

// DefaultQuota is the total size of keys and values a store may hold when Options name no other.
const DefaultQuota = 1 << 30

// Opening.
var (
	// ErrDamaged: the file is not a whole store. The text names the file; the file is left as it is.
	ErrDamaged = errors.New("the file is damaged")
	// ErrInUse: another process has the file open.
	ErrInUse = errors.New("the file is in use")
	// ErrFormat: a later version of the program wrote the file.
	ErrFormat = errors.New("the file was written by a later version")
	// ErrReadOnly: the file or its folder cannot be written.
	ErrReadOnly = errors.New("the file cannot be written")
)

// Working.
var (
	// ErrClosed: the store was closed, or an earlier turn failed.
	ErrClosed = errors.New("the store is closed")
	// ErrFull: the disk is full.
	ErrFull = errors.New("the disk is full")
	// ErrQuota: the turn would pass the store's quota.
	ErrQuota = errors.New("the storage limit is reached")
	// ErrTooLarge: a list is larger than its MaxBytes.
	ErrTooLarge = errors.New("the list is too large")
	// ErrDropped: the turn was taken back before it was committed.
	ErrDropped = errors.New("the turn was dropped")
	// ErrKey: a key is empty, or longer than MaxKey bytes.
	ErrKey = fmt.Errorf("a key must have 1 to %d bytes", MaxKey)
)

// Entry is a key and its value.
type Entry struct {
	Key   string
	Value []byte
}

// Write sets a key, or with Delete removes it.
type Write struct {
	Key    string
	Value  []byte
	Delete bool
}

// Turn is what one turn of a gadget changed. Clear removes every key before Writes are made, in their order. Alarm sets
// the alarm, or with the zero Alarm removes it; nil leaves it.
type Turn struct {
	Clear  bool
	Writes []Write
	Alarm  *Alarm
}

// empty reports whether the turn changes nothing.
func (t Turn) empty() bool { return !t.Clear && len(t.Writes) == 0 && t.Alarm == nil }

// ListOptions choose keys. Start is inclusive, StartAfter and End are exclusive; the empty string stands for no
// bound. Reverse lists from the last key to the first. Limit is the largest number of entries; 0 means all. MaxBytes
// is the largest size, each entry counted with EntryCost besides its bytes; a larger list gives ErrTooLarge before more
// than that is read. 0 means no bound.
type ListOptions struct {
	Start, StartAfter, End, Prefix string
	Reverse                        bool
	Limit                          int
	MaxBytes                       int64
}

// EntryCost is counted for each listed entry besides its bytes.
const EntryCost = 64

// Options of Open. The zero value and nil mean the defaults.
type Options struct {
	// Quota is the largest total of key and value bytes; 0 means DefaultQuota, a negative value no limit.
	Quota int64
	// Backups is the folder of the store's backups, if it has one: a damaged file's error names the newest good one.
	Backups string
	// Alarm, unless nil, is told when an alarm is due before a commit that sets it; the commit waits for it, and fails
	// with its error. It is called by one goroutine at a time and must not call the store.
	Alarm func(due int64) error

	compactAbove int // free pages; 0 means the default, a negative number that every Open compacts
}

// Stats count what a store did since it was opened, and what it holds.
type Stats struct {
	Turns   int64 // turns applied
	Commits int64 // transactions that made them durable
	Bytes   int64 // keys and values, pending turns included
	Changes int64 // turns applied that changed something
}

// span is a half-open range of keys: lo inclusive, hi exclusive, an empty hi meaning no end.
type span struct{ lo, hi string }

// span turns the options into one range.
func (o ListOptions) span() span {
	s := span{o.Start, o.End}
	if o.StartAfter != "" && o.StartAfter+"\x00" > s.lo {
		s.lo = o.StartAfter + "\x00"
	}
	if o.Prefix == "" {
		return s
	}
	s.lo = max(s.lo, o.Prefix)
	if end := prefixEnd(o.Prefix); end != "" && (s.hi == "" || end < s.hi) {
		s.hi = end
	}
	return s
}

// prefixEnd returns the first key after all keys with the prefix, or "" if there is none.
func prefixEnd(prefix string) string {
	b := []byte(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] != 0xff {
			b[i]++
			return string(b[:i+1])
		}
	}
	return ""
}

func (s span) contains(key string) bool { return key >= s.lo && (s.hi == "" || key < s.hi) }
