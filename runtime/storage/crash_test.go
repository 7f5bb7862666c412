package storage_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
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

// crashChild names the file when the test binary runs as the process to be killed.
const crashChild, crashMode = "TOOLSHED_STORAGE_CRASH_CHILD", "TOOLSHED_STORAGE_CRASH_MODE"

func TestMain(m *testing.M) {
	if path := os.Getenv(crashChild); path != "" {
		if os.Getenv(crashMode) == "maintain" {
			maintainForEver(path)
		}
		writeForEver(path, os.Getenv(crashMode) == "early")
	}
	os.Exit(m.Run())
}

// writeForEver writes turns of three equal values and prints the number of each acknowledged one.
func writeForEver(path string, early bool) {
	s, err := storage.Open(path, nil)
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	apply := s.Apply
	if early {
		apply = s.ApplyEarly
	}
	first, _, _ := s.Get("a")
	start, _ := strconv.Atoi(string(first))
	commits := make(chan *storage.Commit, 20)
	go func() {
		for n := start + 1; ; n++ {
			commits <- apply(numberedTurn(n), []byte(strconv.Itoa(n)))
		}
	}()
	for acknowledged := start + 1; ; acknowledged++ {
		if err := (<-commits).Wait(context.Background()); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println(acknowledged)
	}
}

// maintainForEver opens, compacts, writes a turn, backs up, closes and restores, again and again.
func maintainForEver(path string) {
	for {
		s, err := storage.Open(path, storage.CompactAlways())
		die(err)
		first, _, err := s.Get("a")
		die(err)
		last, _ := strconv.Atoi(string(first))
		die(s.Apply(numberedTurn(last+1), []byte(strconv.Itoa(last+1))).Wait(context.Background()))
		fmt.Println(last + 1)
		b, err := s.Backup(path+".backups", storage.Keep{Last: 2})
		die(err)
		die(s.Close())
		aside, err := storage.Restore(path, b.Path)
		die(err)
		die(storage.Verify(aside))
		os.Remove(aside)
	}
}

func die(err error) {
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

// numberedTurn is turn n of a test that breaks off: what it writes tells n, and whether all of it is there.
func numberedTurn(n int) storage.Turn {
	v := strconv.Itoa(n)
	t := storage.Turn{Writes: []storage.Write{
		{Key: "a", Value: []byte(v)}, {Key: "m" + v, Value: []byte(v)}, {Key: "z", Value: []byte(v)},
		{Key: "large", Value: largeTurn(n)},
	}}
	t.Alarm = numberedAlarm(n)
	odd := storage.Write{Key: "odd", Value: largeTurn(-n), Delete: n%2 == 0} // comes and goes
	t.Writes = append(t.Writes, odd)
	if n%10 == 0 { // so that the file grows
		t.Writes = append(t.Writes, storage.Write{Key: "tenth" + v, Value: noise(uint64(n), 70_000)})
	}
	return t
}

// numberedAlarm is what turn n leaves of the alarm; every fifth turn removes it.
func numberedAlarm(n int) *storage.Alarm {
	if n%5 == 0 {
		return &storage.Alarm{}
	}
	return &storage.Alarm{Time: int64(n), Due: int64(2 * n), Retry: n % 7}
}

// largeTurn is the large value of turn n: a document of which each turn changes a byte.
func largeTurn(n int) []byte {
	value := bytes.Clone(document)
	copy(value[max(n, -n)*997%(len(value)-20):], strconv.Itoa(n))
	return value
}

var document = noise(1, 200_000)

// crash runs the child on the file, kills it in mid-write and returns the last acknowledged turn.
func crash(t *testing.T, path, mode string) int {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crashChild+"="+path, crashMode+"="+mode)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	last, killed := 0, false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "error") {
			t.Fatal(lines.Text())
		}
		last, _ = strconv.Atoi(lines.Text())
		if !killed {
			killed = true
			time.AfterFunc(time.Duration(20+rand.IntN(60))*time.Millisecond, func() { child.Process.Kill() })
		}
	}
	child.Wait()
	return last
}

// lastTurn returns the last numbered turn in the file. A file that is not whole or holds half a turn is an error.
func lastTurn(path string) (last int, err error) {
	if err := storage.Verify(path); err != nil {
		return 0, err
	}
	s, err := storage.Open(path, nil)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	a, _, _ := s.Get("a")
	z, _, _ := s.Get("z")
	n, _ := strconv.Atoi(string(a))
	if large, _, err := s.Get("large"); n > 0 && !bytes.Equal(large, largeTurn(n)) {
		return n, fmt.Errorf("half a turn: %s is another document (%w)", a, err)
	}
	if odd, ok, err := s.Get("odd"); ok != (n%2 == 1) || ok && !bytes.Equal(odd, largeTurn(-n)) {
		return n, fmt.Errorf("half a turn: a=%s and odd is there: %v (%w)", a, ok, err)
	}
	if alarm, err := s.Alarm(); err != nil || alarm != *numberedAlarm(n) {
		return n, fmt.Errorf("half a turn: a=%s and the alarm is %+v (%w)", a, alarm, err)
	}
	middle, err := s.List(storage.ListOptions{Prefix: "m"})
	if err != nil || string(a) != string(z) || len(middle) != n {
		return n, fmt.Errorf("half a turn: a=%s z=%s and %d others (%w)", a, z, len(middle), err)
	}
	tenths, err := s.List(storage.ListOptions{Prefix: "tenth"})
	if err != nil || len(tenths) != n/10 {
		return n, fmt.Errorf("half a turn: a=%s and %d tenths (%w)", a, len(tenths), err)
	}
	entries := 0
	err = s.Entries(0, func(sequence uint64, entry []byte) bool {
		entries++
		return string(entry) == strconv.FormatUint(sequence, 10)
	})
	if err != nil || entries != n {
		return n, fmt.Errorf("%d right entries for %d turns (%w)", entries, n, err)
	}
	return n, nil
}

// verify is lastTurn for a file that must be whole.
func verify(t *testing.T, path string) int {
	t.Helper()
	n, err := lastTurn(path)
	if err != nil {
		t.Error(err)
	}
	return n
}

// kills is how often a test kills its child: TOOLSHED_KILLS, or 8.
func kills() int {
	n, _ := strconv.Atoi(os.Getenv("TOOLSHED_KILLS"))
	return max(n, 8)
}

// killsPerFile bounds the file that a test goes on with: it is read whole after every kill, so that one file for all kills
// would cost the square of their number.
const killsPerFile = 10

// crashFile returns the file for a kill: a new one now and then, and the old ones go.
func crashFile(t *testing.T, folder string, kill int) string {
	t.Helper()
	path := filepath.Join(folder, fmt.Sprintf("gadget%d.db", kill/killsPerFile))
	if kill > 0 && kill%killsPerFile == 0 {
		old := filepath.Join(folder, fmt.Sprintf("gadget%d.db", kill/killsPerFile-1))
		if err := errors.Join(os.Remove(old), os.RemoveAll(old+".backups")); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestCrash(t *testing.T) {
	folder := t.TempDir()
	for n := range kills() {
		path := crashFile(t, folder, n)
		acknowledged := crash(t, path, "")
		if kept := verify(t, path); kept < acknowledged || acknowledged == 0 {
			t.Errorf("turn %d was acknowledged, the file ends with %d", acknowledged, kept)
		}
	}
}

// TestCrashWhileMaintaining kills between and in the steps of compacting, backing up and restoring.
func TestCrashWhileMaintaining(t *testing.T) {
	folder := t.TempDir()
	for n := range kills() {
		path := crashFile(t, folder, n)
		acknowledged := crash(t, path, "maintain")
		if kept := verify(t, path); kept < acknowledged || acknowledged == 0 {
			t.Errorf("turn %d was acknowledged, the file ends with %d", acknowledged, kept)
		}
		list, err := storage.Backups(path + ".backups")
		if err != nil {
			t.Error(err)
		}
		for _, b := range list {
			verify(t, b.Path)
		}
	}
}

// TestCrashFindsEarlyAcknowledgement shows that TestCrash can fail.
func TestCrashFindsEarlyAcknowledgement(t *testing.T) {
	folder := t.TempDir()
	for n := range kills() {
		path := crashFile(t, folder, n)
		if acknowledged := crash(t, path, "early"); verify(t, path) < acknowledged {
			return
		}
	}
	t.Error("turns acknowledged before their commit were never lost: the crash test finds nothing")
}
