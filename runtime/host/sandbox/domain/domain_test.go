package domain

import (
	"strings"
	"testing"
	"time"
)

// Each kind of rule, a name that obeys it and one that does not ("" stands for a refusal).
func TestToASCII(t *testing.T) {
	for name, want := range map[string]string{
		"bücher.de": "xn--bcher-kva.de", "BÜCHER.De": "xn--bcher-kva.de", "faß.de": "xn--fa-hia.de", "FAẞ.de": "xn--fa-hia.de",
		"日本語。jp": "xn--wgv71a119e.jp", "ｅｘ．com": "ex.com", "é.xn--bcher-kva": "xn--9ca.xn--bcher-kva", "xn--bcher-kva-é-": "", "ｘｎ--é": "", "a\u00adb\u200b.é": "ab.xn--9ca", "e\u0301": "xn--9ca",
		"a..é": "a..xn--9ca", "é.": "xn--9ca.", "-é-": "xn-----bja", "a_b.é": "a_b.xn--9ca", "ab--é": "xn--ab---epa", "≠": "xn--1ch",
		// joiners are for scripts that need them (RFC 5892, A.1 and A.2)
		"ශ්\u200dරී": "xn--10cl1a0b660p", "نامه\u200cای": "xn--mgba3gch31f060k", "a\u200db": "", "a\u200cb": "",
		// right-to-left text (RFC 5893)
		"שלום": "xn--9dbne9b", "\u064aa": "", "0\u0646": "", "a.\u05d01": "a.xn--1-zhc", "a.1\u05d0": "",
		// labels that are Punycode already
		"xn--bcher-kva.é": "xn--bcher-kva.xn--9ca", "xn--a.é": "", "xn--.é": "", "ｘＮ－－。é": "", "xn--abc-.é": "", "xn--zz!.é": "", "xn--\u00e9": "",
		// marks, and what no name has
		"\u0301a": "", "a\u0301.b": "xn--1ca.b", "\ufffd": "", "\ue000": "", "a\u2028b": "", "\u2ff0": "", "a\u2025b": "",
		// what Unicode 16 says and 15 did not
		"Ӏ": "xn--s5a", "Ⴀ": "xn--rkj", "Ↄ": "xn--r5g", "Ⅎ": "xn--73g", "a\u180e\u206b\U0001d173\u115f\uffa0.é": "a.xn--9ca", "\U0002f868": "xn--snl",
	} {
		got, ok := ToASCII(name)
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%q gives %q, not %q", name, got, want)
		}
	}
}

// The longest name is done in no time, and a longer one is refused.
func TestLongNames(t *testing.T) {
	var b strings.Builder
	for r := rune(0x4e00); b.Len()+3 <= MaxLength; r++ {
		b.WriteRune(r)
	}
	begin := time.Now()
	if _, ok := ToASCII(b.String()); !ok {
		t.Error("a long name is refused")
	}
	t.Logf("%d bytes take %v", b.Len(), time.Since(begin))
	if _, ok := ToASCII(b.String() + "日"); ok {
		t.Error("a name longer than the limit is taken")
	}
}
