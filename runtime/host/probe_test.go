package host

import (
	"runtime"
	"testing"
)

// An unprivileged child must be refused everything; with its privileges the same attempts mostly succeed, which
// shows that they would be noticed.
func TestProbe(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the walls of this system are not tested")
	}
	dropped, err := startChild(t, fakeConfig()).Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(dropped) < 20 {
		t.Fatalf("%d attempts", len(dropped))
	}
	for _, a := range dropped {
		if !a.Refused {
			t.Errorf("a dropped child can %s: %s", a.Name, a.Detail)
		}
	}
	c := fakeConfig()
	c.Command = self("unwalled")
	open, err := startChild(t, c).Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// What even a privileged child in a namespace of its own may be refused.
	maybe := map[string]bool{"make a namespace": true, "trace another process": true, "signal another process": true, "mount": true,
		"signal every process": true, "read the environment": true, "use an io_uring": true, "fork": true}
	for k, a := range open {
		t.Logf("%-28s dropped: %-40s undropped: %v %s", a.Name, dropped[k].Detail, !a.Refused, a.Detail)
		if a.Refused && !maybe[a.Name] {
			t.Errorf("the attempt to %s fails without the drop too: %s", a.Name, a.Detail)
		}
	}
}

// Every wall stands on this machine or says why not; the filter always stands.
func TestWalls(t *testing.T) {
	walls := startChild(t, fakeConfig()).Walls()
	stands := map[string]bool{}
	for _, w := range walls {
		t.Logf("%s: %q", w.Name, w.Missing)
		stands[w.Name] = w.Missing == ""
	}
	if runtime.GOOS == "linux" && !(stands["system call filter"] && stands["resource limits"]) {
		t.Fatal("a wall is missing")
	}
}
