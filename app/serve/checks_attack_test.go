//go:build attack

package serve

import (
	"testing"
)

// TestEachCheckIsNeeded leaves out one check after the other: what it stops must happen then, else the attack proves
// nothing, and must not happen with every check.
func TestEachCheckIsNeeded(t *testing.T) {
	for _, a := range attacks() {
		t.Run(string(a.check)+"/"+a.name, func(t *testing.T) {
			t.Setenv("TOOLSHED_WITHOUT", string(a.check))
			if !a.tried(t) {
				t.Error("without the check it does not work: it is no attack, or another check stops it too")
			}
			t.Setenv("TOOLSHED_WITHOUT", "")
			if a.tried(t) {
				t.Error("with the check it works")
			}
		})
	}
}

// TestEveryCheckIsAttacked holds the table of checks to be whole.
func TestEveryCheckIsAttacked(t *testing.T) {
	want := map[check]bool{checkTarget: true, checkHost: true, checkMethod: true, checkPath: true, checkKind: true, checkFrame: true, checkExchange: true,
		checkLink: true, checkPipe: true, checkToken: true, checkSize: true, checkSlow: true, checkCrowd: true}
	got := map[check]int{}
	for _, a := range attacks() {
		got[a.check]++
		if !want[a.check] {
			t.Errorf("%s is attacked in a browser, not here", a.check)
		}
	}
	for c := range want {
		if got[c] == 0 {
			t.Errorf("nothing attacks %s", c)
		}
		t.Logf("%s: %d attacks", c, got[c])
	}
}
