package subtle_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"toolshed/runtime/host/sandbox/subtle"
)

func goOn() {}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Answers that the standards print (FIPS 180-4 examples, RFC 4231 case 2, the GCM paper's cases 4 and 5).
func TestKnownAnswers(t *testing.T) {
	for algorithm, want := range map[string]string{
		"SHA-1":   "a9993e364706816aba3e25717850c26c9cd0d89d",
		"SHA-256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"SHA-384": "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
		"SHA-512": "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
	} {
		out := make([]byte, len(want)/2)
		if err := subtle.Digest(algorithm, []byte("abc"), out, goOn); err != nil || hex.EncodeToString(out) != want {
			t.Errorf("%s: %x, %v", algorithm, out, err)
		}
	}
	mac := make([]byte, 32)
	if err := subtle.HMAC("SHA-256", []byte("Jefe"), []byte("what do ya want for nothing?"), mac, goOn); err != nil ||
		hex.EncodeToString(mac) != "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" {
		t.Errorf("HMAC: %x, %v", mac, err)
	}
	key, nonce := unhex(t, "feffe9928665731c6d6a8f9467308308"), unhex(t, "cafebabefacedbaddecaf888")
	plain := unhex(t, "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39")
	additional := unhex(t, "feedfacedeadbeeffeedfacedeadbeefabaddad2")
	sealed := make([]byte, len(plain)+16)
	if err := subtle.Seal(key, nonce, additional, plain, sealed); err != nil || hex.EncodeToString(sealed[len(plain):]) != "5bc94fbc3221a5db94fae95ae7121a47" {
		t.Errorf("GCM: %x, %v", sealed, err)
	}
	if err := subtle.Seal(key, nonce[:8], additional, plain, sealed); err != nil || hex.EncodeToString(sealed[len(plain):]) != "3612d2e79e3b0785561be14aaca2fccb" {
		t.Errorf("GCM with a short nonce: %x, %v", sealed, err)
	}
}

// What was sealed opens, a short tag is the beginning of the whole one, and nothing that was changed opens.
func TestSealAndOpen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := func(name string, least, most int) []byte {
			return rapid.SliceOfN(rapid.Byte(), least, most).Draw(t, name)
		}
		key := some("key", 32, 32)[:rapid.SampledFrom([]int{16, 24, 32}).Draw(t, "size")]
		nonce, additional, plain := some("nonce", 1, 40), some("additional", 0, 40), some("plain", 0, 200)
		tag := rapid.SampledFrom([]int{4, 8, 12, 13, 14, 15, 16}).Draw(t, "tag")
		whole, sealed := make([]byte, len(plain)+16), make([]byte, len(plain)+tag)
		if err := errors.Join(subtle.Seal(key, nonce, additional, plain, whole), subtle.Seal(key, nonce, additional, plain, sealed)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(sealed, whole[:len(sealed)]) {
			t.Fatal("a short tag is not the beginning of the whole one")
		}
		out := make([]byte, len(plain))
		if ok, err := subtle.Open(key, nonce, additional, sealed, out); !ok || err != nil || !bytes.Equal(out, plain) {
			t.Fatal("it does not open", ok, err)
		}
		changed := [][]byte{sealed, additional, nonce, key}[rapid.IntRange(0, 3).Draw(t, "part")]
		if len(changed) == 0 {
			return
		}
		changed[rapid.IntRange(0, len(changed)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if ok, err := subtle.Open(key, nonce, additional, sealed, out); ok || err != nil {
			t.Fatal("a change was not noticed", ok, err)
		}
		if !bytes.Equal(out, make([]byte, len(out))) {
			t.Fatal("text is left after a wrong tag")
		}
	})
}

// Sizes and overlaps are refused with an error, never a panic: the caller's caller is hostile.
func TestRefusals(t *testing.T) {
	key, nonce, text := make([]byte, 16), make([]byte, 12), make([]byte, 8)
	out := make([]byte, 24)
	memory := make([]byte, 100)
	open := func(key, nonce, additional, sealed, out []byte) error {
		_, err := subtle.Open(key, nonce, additional, sealed, out)
		return err
	}
	for name, c := range map[string]struct{ got, want error }{
		"digest":       {subtle.Digest("MD5", text, make([]byte, 16), goOn), subtle.ErrAlgorithm},
		"digest size":  {subtle.Digest("SHA-1", text, make([]byte, 19), goOn), subtle.ErrSize},
		"hmac":         {subtle.HMAC("", key, text, out, goOn), subtle.ErrAlgorithm},
		"hmac size":    {subtle.HMAC("SHA-1", key, text, make([]byte, 21), goOn), subtle.ErrSize},
		"key":          {subtle.Seal(key[:15], nonce, nil, text, out), subtle.ErrSize},
		"nonce":        {subtle.Seal(key, nil, nil, text, out), subtle.ErrSize},
		"no tag":       {subtle.Seal(key, nonce, nil, text, out[:8]), subtle.ErrSize},
		"short tag":    {subtle.Seal(key, nonce, nil, text, out[:13]), subtle.ErrSize},
		"long tag":     {subtle.Seal(key, nonce, nil, text[:7], out), subtle.ErrSize},
		"shorter":      {subtle.Seal(key, nonce, nil, text, out[:4]), subtle.ErrSize},
		"open shorter": {open(key, nonce, nil, text, out), subtle.ErrSize},
		"open key":     {open(key[:3], nonce, nil, out, text), subtle.ErrSize},
		"in place":     {subtle.Seal(key, nonce, nil, memory[:10], memory[:26]), subtle.ErrOverlap},
		"in part":      {subtle.Seal(key, nonce, nil, memory[:10], memory[9:35]), subtle.ErrOverlap},
		"over the key": {open(memory[:16], nonce, nil, out, memory[8:16]), subtle.ErrOverlap},
		"over a nonce": {open(key, memory[:12], nil, out, memory[11:19]), subtle.ErrOverlap},
		"a lot":        {subtle.Seal(key, nonce, make([]byte, subtle.MaxMessage+1), text, out), subtle.ErrTooLong},
		"a short tag":  {subtle.Seal(key, nonce, nil, make([]byte, subtle.MaxShortTag+1), make([]byte, subtle.MaxShortTag+13)), subtle.ErrTooLong},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if subtle.Equal(key, nonce) || !subtle.Equal(key, make([]byte, 16)) || subtle.Equal([]byte{1}, []byte{2}) {
		t.Error("Equal")
	}
}

// A large input is hashed in pieces, and can be given up between them.
func TestPieces(t *testing.T) {
	data, asked := make([]byte, 1<<20), 0
	if err := subtle.Digest("SHA-256", data, make([]byte, 32), func() { asked++ }); err != nil || asked < 15 {
		t.Errorf("asked %d times, %v", asked, err)
	}
	asked = 0
	long, short := make([]byte, 32), make([]byte, 32)
	if err := subtle.HMAC("SHA-256", data, nil, long, func() { asked++ }); err != nil || asked < 15 {
		t.Errorf("asked %d times for a key, %v", asked, err)
	}
	key := make([]byte, 32)
	if err := errors.Join(subtle.Digest("SHA-256", data, key, goOn), subtle.HMAC("SHA-256", key, nil, short, goOn)); err != nil || !bytes.Equal(long, short) {
		t.Error("a long key", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("it was not given up")
		}
	}()
	_ = subtle.Digest("SHA-512", data, make([]byte, 64), func() { panic("enough") })
}
