package storage_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"toolshed/runtime/storage"
)

const cutChild, cutMode = "TOOLSHED_STORAGE_CUT_CHILD", "TOOLSHED_STORAGE_CUT_MODE"

// The turns that are recorded; those before them are in the file already.
const recordedFrom, recordedTo = 4, 80

// TestPowerCut records what a store does to its file and rebuilds the disk as it is after a power cut, TOOLSHED_CUTS
// times (20): it must open, be whole, and hold a prefix of the turns with every acknowledged one.
func TestPowerCut(t *testing.T) {
	if path := os.Getenv(cutChild); path != "" {
		recordTurns(t, path, os.Getenv(cutMode))
		return
	}
	faults, cuts := cutPower(t, "")
	for _, f := range faults {
		t.Error(f)
	}
	t.Logf("%d of %d cuts found a fault", len(faults), cuts)
}

// TestPowerCutFinds shows that TestPowerCut can fail: the same turns without syncs, and acknowledged too early.
func TestPowerCutFinds(t *testing.T) {
	for _, mode := range []string{"no sync", "early"} {
		faults, cuts := cutPower(t, mode)
		if len(faults) == 0 {
			t.Errorf("%s: %d cuts found no fault", mode, cuts)
			continue
		}
		t.Logf("%s: %d of %d cuts found a fault, the first: %v", mode, len(faults), cuts, faults[0])
	}
}

// cutPower returns the faults that it found and the number of cuts.
func cutPower(t *testing.T, mode string) (faults []error, cuts int) {
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("TOOLSHED_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("TOOLSHED_SEED=%d", seed)
	if cuts, _ = strconv.Atoi(os.Getenv("TOOLSHED_CUTS")); cuts < 1 {
		cuts = 20
	}
	before, events := recording(t, mode)
	random, path := rand.New(rand.NewPCG(seed, 0)), filepath.Join(t.TempDir(), "cut.db")
	for n := range cuts {
		at := random.IntN(len(events) + 1)
		d, how := cut(before, events[:at], random)
		if err := os.WriteFile(path, d, 0o600); err != nil {
			t.Fatal(err)
		}
		last := 0
		for _, e := range events[:at] {
			if e.Kind == acknowledged {
				last = int(e.Offset)
			}
		}
		if err := survived(path, last); err != nil {
			faults = append(faults, fmt.Errorf("cut %d after event %d of %d (%s reached the disk): %w", n, at, len(events), how, err))
		}
	}
	return faults, cuts
}

// survived checks a file after a power cut, and that it still takes turns.
func survived(path string, acknowledged int) error {
	kept, err := lastTurn(path)
	if err != nil {
		return err
	}
	if kept < acknowledged {
		return fmt.Errorf("turn %d was acknowledged, the file ends with %d", acknowledged, kept)
	}
	s, err := storage.Open(path, nil)
	if err != nil {
		return err
	}
	err = s.Apply(numberedTurn(kept+1), []byte(strconv.Itoa(kept+1))).Wait(context.Background())
	if err := s.Close(); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	if now, err := lastTurn(path); err != nil || now != kept+1 {
		return fmt.Errorf("after one more turn than %d the file ends with %d (%w)", kept, now, err)
	}
	return nil
}

// recording runs the child and returns the file that it began with and what it did to it.
func recording(t *testing.T, mode string) (before []byte, events []event) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gadget.db")
	s := mustOpen(t, path)
	for n := 1; n <= recordedFrom; n++ {
		s.Apply(numberedTurn(n), []byte(strconv.Itoa(n)))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestPowerCut$", "-test.v")
	child.Env = append(os.Environ(), cutChild+"="+path, cutMode+"="+mode)
	out, err := child.CombinedOutput()
	switch {
	case strings.Contains(string(out), "cannot record"):
		t.Skipf("this system reports no calls\n%s", out)
	case err != nil || !strings.Contains(string(out), "--- PASS"):
		t.Fatalf("%v\n%s", err, out)
	}
	log, err := os.Open(path + ".log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := gob.NewDecoder(log).Decode(&events); err != nil {
		t.Fatal(err)
	}
	kinds := map[eventKind]int{}
	for _, e := range events {
		kinds[e.Kind]++
	}
	if kinds[wrote] == 0 || kinds[truncated] == 0 || kinds[synced] == 0 || kinds[acknowledged] < recordedTo-recordedFrom {
		t.Fatalf("the recording lacks something: %v", kinds)
	}
	d := disk(bytes.Clone(before))
	for _, e := range events {
		d.apply(e)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(d) {
		t.Fatalf("the recording does not give the file (%v)", err)
	}
	return before, events
}

// recordTurns is the child: it writes turns, some one at a time and some together, and logs what happens.
func recordTurns(t *testing.T, path, mode string) {
	s := mustOpen(t, path)
	if mode == "no sync" {
		s.NoSync()
	}
	apply := s.Apply
	if mode == "early" {
		apply = s.ApplyEarly
	}
	r, err := record(path)
	if err != nil {
		t.Fatalf("cannot record: %v", err)
	}
	for n := recordedFrom + 1; n <= recordedTo; {
		var flight []*storage.Commit
		first := n
		for range 1 + n%4 {
			flight = append(flight, apply(numberedTurn(n), []byte(strconv.Itoa(n))))
			n++
		}
		for i, c := range flight {
			if err := c.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.acknowledge(first + i)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.save(path + ".log"); err != nil {
		t.Fatal(err)
	}
}
