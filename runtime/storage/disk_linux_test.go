package storage_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"toolshed/runtime/storage"
)

const fullChild = "TOOLSHED_STORAGE_FULL_CHILD"

// TestFullDisk fills a real file system, a small one in memory that a child mounts in a namespace of its own.
func TestFullDisk(t *testing.T) {
	if folder := os.Getenv(fullChild); folder != "" {
		fillDisk(t, folder)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
	child.Env = append(os.Environ(), fullChild+"="+t.TempDir())
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := child.CombinedOutput()
	switch {
	case strings.Contains(string(out), "cannot mount"), len(out) == 0 && err != nil:
		t.Skipf("this system lets nobody mount a file system (%v)", err)
	case err != nil || !strings.Contains(string(out), "--- PASS"):
		t.Errorf("%v\n%s", err, out)
	}
}

func fillDisk(t *testing.T, folder string) {
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatalf("cannot mount: %v", err)
	}
	backupToFullDisk(t, folder)
	path := filepath.Join(folder, "gadget.db")
	s := mustOpen(t, path)
	durable := 0
	for n := 1; ; n++ {
		err := s.Apply(turn(strings.Repeat("k", n), strings.Repeat("v", 50_000)), nil).Wait(t.Context())
		if err == nil {
			durable = n
			continue
		}
		if !errors.Is(err, storage.ErrFull) {
			t.Fatalf("turn %d: %v, want ErrFull", n, err)
		}
		break
	}
	if _, _, err := s.Get("k"); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("Get after the failure: %v, want ErrClosed", err)
	}
	s.Close()
	s = mustOpen(t, path)
	defer s.Close()
	list, err := s.List(storage.ListOptions{})
	if err != nil || len(list) != durable || durable == 0 {
		t.Errorf("the reopened store holds %d turns of %d (%v)", len(list), durable, err)
	}
	if _, err := storage.Open(filepath.Join(folder, "second.db"), nil); !errors.Is(err, storage.ErrFull) {
		t.Logf("a second file on the full disk: %v", err)
	}
}

// backupToFullDisk: a backup that finds no room leaves nothing behind, and the store goes on.
func backupToFullDisk(t *testing.T, folder string) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "gadget.db"))
	defer s.Close()
	s.Apply(turn("large", string(noise(1, 2<<20))), nil)
	if _, err := s.Backup(filepath.Join(folder, "backups"), storage.Keep{}); !errors.Is(err, storage.ErrFull) {
		t.Errorf("a backup to a disk without room: %v, want ErrFull", err)
	}
	if files, _ := os.ReadDir(filepath.Join(folder, "backups")); len(files) > 0 {
		t.Errorf("it left %v", files)
	}
	if err := s.Apply(turn("a", "1"), nil).Wait(t.Context()); err != nil {
		t.Errorf("a turn after it: %v", err)
	}
}

// TestReadOnly opens files of somebody else: as another user of the file system, on a thread of its own that ends
// with the goroutine, so that it also works when the superuser runs the tests.
func TestReadOnly(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "gadget.db")
	mustOpen(t, path).Close()
	for path, mode := range map[string]os.FileMode{folder: 0o555, filepath.Dir(folder): 0o755} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(folder, 0o700)
	finished := make(chan bool)
	go func() {
		defer close(finished)
		runtime.LockOSThread()
		if os.Getuid() == 0 {
			syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0)
		}
		for _, name := range []string{"gadget.db", "new.db"} {
			if _, err := storage.Open(filepath.Join(folder, name), nil); !errors.Is(err, storage.ErrReadOnly) {
				t.Errorf("%s: %v, want ErrReadOnly", name, err)
			}
		}
	}()
	<-finished
}

// TestCycles opens and closes a store TOOLSHED_CYCLES times (300): nothing may pile up.
func TestCycles(t *testing.T) {
	cycles, _ := strconv.Atoi(os.Getenv("TOOLSHED_CYCLES"))
	cycles = max(cycles, 300)
	path := filepath.Join(t.TempDir(), "gadget.db")
	var before, after usage
	for n := range cycles {
		s := mustOpen(t, path)
		if n%10 == 0 {
			s.Apply(turn("large", string(largeTurn(n))), nil)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if n == cycles/2 {
			before = used(t)
		}
	}
	after = used(t)
	t.Logf("half way: %+v, at the end: %+v", before, after)
	if after.goroutines > before.goroutines || after.files > before.files || after.heap > before.heap+1<<20 {
		t.Errorf("half way %+v, at the end %+v", before, after)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 4<<20 {
		t.Errorf("the file has %d bytes (%v)", info.Size(), err)
	}
}

type usage struct {
	goroutines, files int
	heap              uint64
}

func used(t *testing.T) usage {
	t.Helper()
	runtime.GC()
	runtime.GC()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{runtime.NumGoroutine(), len(files), m.HeapAlloc}
}
