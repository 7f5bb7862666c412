package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"sync"
)

// gate holds the one-time link and the token that it is exchanged for. Both are 256 random bits, new at every start; what
// is kept of them is their hash.
type gate struct {
	mu    sync.Mutex
	link  [32]byte
	used  bool
	token [32]byte
}

func newGate() (g *gate, link string) {
	link = randomHex()
	return &gate{link: sha256.Sum256([]byte(link))}, link
}

func randomHex() string {
	var b [32]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func same(hash [32]byte, secret string) bool {
	sum := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(hash[:], sum[:]) == 1
}

// exchange gives the token for the link, once. used says whether the link was right but had been used.
func (g *gate) exchange(link string) (token string, used bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !same(g.link, link):
		return "", false
	case g.used && on(checkLink):
		return "", true
	}
	g.used = true
	token = randomHex()
	g.token = sha256.Sum256([]byte(token))
	return token, false
}

// admits says whether the hello of a pipe holds the token that was given out.
func (g *gate) admits(hello []byte) bool {
	var body struct {
		Token string `json:"token"`
	}
	if json.Unmarshal(hello, &body) != nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.used && same(g.token, body.Token)
}
