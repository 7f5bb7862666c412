package wire

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// Bounds of an instance's console. Both sides apply them: the child to save the frames, the kernel because it does
// not believe the child.
const (
	MaxLine   = 8 << 10
	LineBurst = 200
	LineRate  = 100 // lines a second
)

// LineGate lets lines through at a bounded rate and counts the others.
type LineGate struct {
	tokens  float64
	last    time.Time
	Dropped int // lines not told of yet
}

// Admit tells whether a line may pass at the given time, and how many were dropped before it.
func (g *LineGate) Admit(now time.Time) (ok bool, dropped int) {
	if g.last.IsZero() {
		g.tokens = LineBurst
	} else {
		g.tokens = min(LineBurst, g.tokens+now.Sub(g.last).Seconds()*LineRate)
	}
	g.last = now
	if g.tokens < 1 {
		g.Dropped++
		return false, 0
	}
	g.tokens--
	dropped, g.Dropped = g.Dropped, 0
	return true, dropped
}

// DroppedText is the line that stands for dropped ones.
func DroppedText(n int) string {
	if n == 1 {
		return "1 line dropped"
	}
	return strconv.Itoa(n) + " lines dropped"
}

// Clip shortens a text to at most n bytes, at a character's end, and makes it valid UTF-8.
func Clip(s string, n int) string {
	if len(s) > n {
		s = s[:n]
		for k := 0; k < utf8.UTFMax && len(s) > 0; k++ {
			if r, size := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || size != 1 {
				break
			}
			s = s[:len(s)-1]
		}
		s += "…"
	}
	if utf8.ValidString(s) {
		return s
	}
	out := make([]rune, 0, len(s))
	for _, r := range s { // ranging replaces what is not UTF-8
		out = append(out, r)
	}
	return string(out)
}

// Level returns a level that Line may have.
func Level(s string) string {
	switch s {
	case "debug", "info", "warn", "error":
		return s
	}
	return "log"
}
