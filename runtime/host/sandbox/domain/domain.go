// Package domain turns international host names into the ASCII that DNS has, as the URL Standard asks for it: UTS 46
// without transitional processing, with the rules for joiners and for right-to-left text, without those that only a
// registry needs. The engine has no tables for any of it. Nothing here knows of JavaScript.
//
// The tables are those of the Unicode version that golang.org/x/net/idna has for this Go.
package domain

import (
	"slices"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// MaxLength is how many bytes of UTF-8 a name may have. DNS ends at 253; the time for one label grows with its square.
const MaxLength = 2 << 10

var profile = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.CheckHyphens(false), idna.CheckJoiners(true), idna.BidiRule())

// ToASCII returns the ASCII form of a name, and false for a name that cannot have one. A name of ASCII alone is for the
// caller to deal with: the standard takes it as it is, in lower case.
func ToASCII(name string) (string, bool) {
	if len(name) > MaxLength {
		return "", false
	}
	name = strings.Map(since15, name)
	if hasFalsePunycode(name) {
		return "", false
	}
	out, err := profile.ToASCII(name)
	return out, err == nil
}

// hasFalsePunycode tells whether a label is xn-- and nothing more, which idna takes for an empty label, or xn-- and letters that
// are not of ASCII, which idna decodes all the same.
func hasFalsePunycode(name string) bool {
	labels := strings.FieldsFunc(norm.NFKC.String(strings.ToLower(name)), func(r rune) bool { return r == '.' || r == '。' })
	return slices.ContainsFunc(labels, func(label string) bool {
		rest, is := strings.CutPrefix(label, "xn--")
		return is && (rest == "" || strings.ContainsFunc(rest, func(r rune) bool { return r >= 0x80 }))
	})
}

// since15 maps what Unicode 15.1 and 16 map otherwise than 15, whose tables idna has until Go 1.27. Later tables agree.
func since15(r rune) rune {
	switch {
	case r < 0x4c0:
		return r
	case r >= 0x10a0 && r <= 0x10c5: // Georgian capitals
		return r - 0x10a0 + 0x2d00
	case r >= 0x206a && r <= 0x206f, r >= 0x1d173 && r <= 0x1d17a: // formats
		return -1
	}
	switch r {
	case 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180e, 0x3164, 0xffa0: // fillers and the like
		return -1
	case 0x04c0:
		return 0x04cf
	case 0x1e9e:
		return 0x00df
	case 0x2132:
		return 0x214e
	case 0x2183:
		return 0x2184
	case 0x2f868:
		return 0x36fc
	case 0x2f874:
		return 0x5f53
	case 0x2f91f:
		return 0x243ab
	case 0x2f95f:
		return 0x7aee
	case 0x2f9bf:
		return 0x45d7
	}
	return r
}
