package storage_test

import (
	"bufio"
	"context"
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
const crashChild, crashEarly = "TOOLSHED_STORAGE_CRASH_CHILD", "TOOLSHED_STORAGE_CRASH_EARLY"

func TestMain(m *testing.M) {
	if path := os.Getenv(crashChild); path != "" {
		writeForEver(path, os.Getenv(crashEarly) != "")
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
			v := strconv.Itoa(n)
			commits <- apply(storage.Turn{Writes: []storage.Write{
				{Key: "a", Value: []byte(v)}, {Key: "m" + v, Value: []byte(v)}, {Key: "z", Value: []byte(v)},
			}}, []byte(v))
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

// crash runs the child on the file, kills it in mid-write and returns the last acknowledged turn.
func crash(t *testing.T, path string, early bool) int {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crashChild+"="+path)
	if early {
		child.Env = append(child.Env, crashEarly+"=1")
	}
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

// verify reopens the file and returns the last whole turn in it; anything half is an error.
func verify(t *testing.T, path string) int {
	t.Helper()
	s := mustOpen(t, path)
	defer s.Close()
	a, _, _ := s.Get("a")
	z, _, _ := s.Get("z")
	n, _ := strconv.Atoi(string(a))
	middle, err := s.List(storage.ListOptions{Prefix: "m"})
	if err != nil || string(a) != string(z) || len(middle) != n {
		t.Errorf("half a turn: a=%s z=%s and %d others (%v)", a, z, len(middle), err)
	}
	entries := 0
	s.Entries(0, func(sequence uint64, entry []byte) bool {
		entries++
		if string(entry) != strconv.FormatUint(sequence, 10) {
			t.Errorf("entry %d is %q", sequence, entry)
		}
		return true
	})
	if entries != n {
		t.Errorf("%d entries for %d turns", entries, n)
	}
	return n
}

func TestCrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gadget.db")
	for range 8 {
		acknowledged := crash(t, path, false)
		if kept := verify(t, path); kept < acknowledged || acknowledged == 0 {
			t.Errorf("turn %d was acknowledged, the file ends with %d", acknowledged, kept)
		}
	}
}

// TestCrashFindsEarlyAcknowledgement shows that TestCrash can fail.
func TestCrashFindsEarlyAcknowledgement(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gadget.db")
	for range 8 {
		if acknowledged := crash(t, path, true); verify(t, path) < acknowledged {
			return
		}
	}
	t.Error("turns acknowledged before their commit were never lost: the crash test finds nothing")
}
