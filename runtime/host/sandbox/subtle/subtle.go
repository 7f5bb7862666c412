// Package subtle is the cryptography behind a gadget's crypto.subtle: digests, HMAC and AES-GCM over bytes. What a
// gadget sees of it (keys, usages, names of errors) is made in the prelude; nothing here knows of JavaScript.
//
// Every function writes its result where the caller says, so that the memory for it is the guest's and counts against
// the guest's limit. The slices may be views of memory that a hostile guest owns: a result must not overlap what it is
// made from, which is checked, and nothing is kept after a function returns.
//
// A step over a large input cannot be preempted by the Go scheduler while it is in assembly, so digests go in pieces
// and ask between them whether to go on, and AES-GCM takes no more than MaxMessage at a time.
package subtle

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	stdsubtle "crypto/subtle"
	"errors"
	"hash"
	"unsafe"
)

// MaxMessage is how many bytes Seal and Open take, in the text and in what is authenticated besides. With a tag that
// is not whole they work in memory of their own, and take MaxShortTag.
const (
	MaxMessage  = 64 << 20
	MaxShortTag = 4 << 20
)

// TagSize is the length in bytes of a whole tag of AES-GCM.
const TagSize = 16

// pieceSize is how much is hashed between two questions whether to go on: well under a millisecond.
const pieceSize = 64 << 10

// Errors of an operation that was asked for wrongly. A wrong tag is not one of them: see Open.
var (
	ErrAlgorithm = errors.New("no such digest")
	ErrSize      = errors.New("a key, nonce, tag or result has the wrong length")
	ErrTooLong   = errors.New("at most 64 MiB can be encrypted or decrypted at a time, and 4 MiB with a tagLength under 128")
	ErrOverlap   = errors.New("the result overlaps what it is made from")
)

func newHash(algorithm string) func() hash.Hash {
	switch algorithm {
	case "SHA-1":
		return sha1.New
	case "SHA-256":
		return sha256.New
	case "SHA-384":
		return sha512.New384
	case "SHA-512":
		return sha512.New
	}
	return nil
}

// Digest writes the digest of data into out, which must have its exact length. It calls goOn between pieces of data;
// goOn may panic to give up.
func Digest(algorithm string, data, out []byte, goOn func()) error {
	f := newHash(algorithm)
	if f == nil {
		return ErrAlgorithm
	}
	return sum(f(), data, out, goOn)
}

// HMAC writes the HMAC (RFC 2104) of data under a key of any length into out, as Digest does.
func HMAC(algorithm string, key, data, out []byte, goOn func()) error {
	f := newHash(algorithm)
	if f == nil {
		return ErrAlgorithm
	}
	if len(key) > pieceSize { // a long key is hashed first: the same, but in pieces
		short := make([]byte, f().Size())
		if err := sum(f(), key, short, goOn); err != nil {
			return err
		}
		key = short
	}
	return sum(hmac.New(f, key), data, out, goOn)
}

func sum(h hash.Hash, data, out []byte, goOn func()) error {
	if len(out) != h.Size() {
		return ErrSize
	}
	for len(data) > 0 {
		n := min(len(data), pieceSize)
		h.Write(data[:n])
		if data = data[n:]; len(data) > 0 {
			goOn()
		}
	}
	h.Sum(out[:0])
	return nil
}

// Seal encrypts plain with AES-GCM (NIST SP 800-38D) under a key of 16, 24 or 32 bytes and a nonce of any length but
// zero, and writes the text and its tag into out. The tag has what out is longer than plain: 4, 8 or 12 to 16 bytes.
func Seal(key, nonce, additional, plain, out []byte) error {
	size := len(out) - len(plain)
	g, err := check(key, nonce, additional, plain, out, size)
	if err != nil {
		return err
	}
	if size == TagSize {
		g.Seal(out[:0], nonce, plain, additional)
		return nil
	}
	copy(out, g.Seal(nil, nonce, plain, additional)) // a short tag is the beginning of the whole one
	return nil
}

// Open decrypts what Seal made and writes the plain text into out, which is as much shorter as the tag is long. It
// returns false, and leaves zeros in out, if the tag is not right.
func Open(key, nonce, additional, sealed, out []byte) (bool, error) {
	size := len(sealed) - len(out)
	g, err := check(key, nonce, additional, sealed, out, size)
	if err != nil {
		return false, err
	}
	if size == TagSize {
		if _, err := g.Open(out[:0], nonce, sealed, additional); err != nil {
			clear(out)
			return false, nil
		}
		return true, nil
	}
	// The library opens whole tags only. Encrypting twice with one nonce gives the text back; encrypting that once
	// more gives the whole tag.
	text := sealed[:len(out)]
	copy(out, g.Seal(nil, nonce, text, additional))
	whole := g.Seal(nil, nonce, out, additional)[len(out):]
	if !Equal(whole[:size], sealed[len(out):]) {
		clear(out)
		return false, nil
	}
	return true, nil
}

func check(key, nonce, additional, from, out []byte, tag int) (cipher.AEAD, error) {
	if len(nonce) == 0 || tag != 4 && tag != 8 && (tag < 12 || tag > TagSize) {
		return nil, ErrSize
	}
	if max(len(from), len(additional), len(nonce)) > MaxMessage || tag != TagSize && len(from) > MaxShortTag {
		return nil, ErrTooLong
	}
	for _, in := range [][]byte{key, nonce, additional, from} {
		if overlap(in, out) {
			return nil, ErrOverlap
		}
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, ErrSize
	}
	return cipher.NewGCMWithNonceSize(block, len(nonce))
}

func overlap(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	p, q := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	return p < q+uintptr(len(b)) && q < p+uintptr(len(a))
}

// Equal compares in a time that depends on the lengths alone.
func Equal(a, b []byte) bool { return stdsubtle.ConstantTimeCompare(a, b) == 1 }
