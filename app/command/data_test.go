package command

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tryAll runs every command that uses the data folder and expects each to be refused.
func (s *terminal) tryAll(code int, kind string) {
	s.t.Helper()
	s.refused(code, kind, "list")
	s.refused(code, kind, "new", "--blueprint", "board")
	s.refused(code, kind, "call", "Board", "snapshot")
	s.refused(code, kind, "serve")
	s.refused(code, kind, "open")
	got := s.run("--json", "check")
	var printed struct {
		Checks []struct {
			Name, Detail string
			OK           bool
		}
	}
	if err := json.Unmarshal([]byte(got.out), &printed); err != nil || got.code != exitFailed {
		s.t.Errorf("check: %d %s: %v", got.code, got.out, err)
	}
	for _, c := range printed.Checks {
		if (c.Name == "data folder") == c.OK || c.Detail == "" {
			s.t.Errorf("check says %+v", c)
		}
	}
	forPeople := s.run("check")
	if forPeople.code != exitFailed || !strings.Contains(forPeople.out, "FAILED  data folder") || strings.Contains(forPeople.out+forPeople.errors, "unexpected") {
		s.t.Errorf("check: %d %s%s", forPeople.code, forPeople.out, forPeople.errors)
	}
}

func TestADataFolderThatIsAFile(t *testing.T) {
	s := newTerminal(t)
	if err := os.WriteFile(s.data, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.tryAll(exitData, "folder")
	s.data = filepath.Join(s.data, "below")
	s.refused(exitData, "folder", "list")
	if text, err := os.ReadFile(filepath.Dir(s.data)); err != nil || string(text) != "mine" {
		t.Errorf("the file was changed: %q, %v", text, err)
	}
}

func TestADamagedProfile(t *testing.T) {
	s := newTerminal(t)
	m := s.gadget(sums)
	path := filepath.Join(s.data, "profile.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.tryAll(exitData, "damaged")
	if text, _ := os.ReadFile(path); string(text) != "rubbish" {
		t.Error("the damaged file was changed")
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.run("call", m.Gadget, "add", "1"); got.out != "1\n" {
		t.Errorf("with the file back: %d %s%s", got.code, got.out, got.errors)
	}
}

func TestADamagedWorkspaceIsShownAndTheOthersWork(t *testing.T) {
	s := newTerminal(t)
	bad, good := s.gadget(sums), s.gadget(sums)
	if err := os.WriteFile(filepath.Join(s.data, "workspaces", bad.Workspace, "workspace.db"), []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.run("list"); got.code != exitOK || !strings.Contains(got.out, "damaged") || !strings.Contains(got.out, good.Gadget) {
		t.Errorf("list: %d %s%s", got.code, got.out, got.errors)
	}
	s.refused(exitData, "damaged", "new", "--blueprint", "board", "--workspace", bad.Workspace)
	if got := s.run("call", good.Gadget, "add", "1"); got.code != exitOK {
		t.Errorf("the other workspace: %d %s%s", got.code, got.out, got.errors)
	}
}

func TestADamagedGadget(t *testing.T) {
	s := newTerminal(t)
	m := s.gadget(sums)
	s.run("call", m.Gadget, "add", "1")
	if err := os.WriteFile(filepath.Join(s.data, "workspaces", m.Workspace, "gadgets", m.Gadget+".db"), []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.refused(exitData, "damaged", "call", m.Gadget, "add", "1")
}

// Another program has the folder and listens: commands go through it. Then it is stopped, as a debugger or Ctrl-Z stops
// it: it takes connections and answers none.
func TestAProgramThatDoesNotAnswer(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("needs a system that can stop a process")
	}
	s := newTerminal(t)
	m := s.gadget(sums)
	other := s.process("run")
	if got := s.run("call", m.Gadget, "add", "1"); got.code != exitOK || got.out != "1\n" {
		t.Errorf("through the other program: %d %s%s", got.code, got.out, got.errors)
	}
	s.refused(exitData, "in-use", "serve")
	s.refused(exitFailed, "no-window", "open")
	stop(t, other.Process)
	s.env.patience = 300 * time.Millisecond
	s.refused(exitData, "silent", "list")
	s.refused(exitData, "silent", "call", m.Gadget, "add", "1")
	s.refused(exitData, "silent", "open")
	s.refused(exitData, "in-use", "serve")
	goOn(t, other.Process)
	s.env.patience = 0
	if got := s.run("call", m.Gadget, "add", "0"); got.code != exitOK || got.out != "1\n" {
		t.Errorf("when it goes on: %d %s%s", got.code, got.out, got.errors)
	}
	_ = other.Process.Kill()
	_, _ = other.Process.Wait()
	if got := s.run("call", m.Gadget, "add", "0"); got.code != exitOK || got.out != "1\n" {
		t.Errorf("after it was killed: %d %s%s", got.code, got.out, got.errors)
	}
}

// The program that is asked is killed before it answers: that is said, and that it may have happened.
func TestAProgramThatGoesAwayDuringACall(t *testing.T) {
	s := newTerminal(t)
	m := s.gadget(`export class Gadget { never() { return new Promise(() => {}) } }`)
	other := s.process("run")
	time.AfterFunc(500*time.Millisecond, func() { _ = other.Process.Kill() })
	got := s.run("call", m.Gadget, "never")
	if got.code != exitFailed || !strings.Contains(got.errors, "went away") || !strings.Contains(got.errors, "What to do") || strings.Contains(got.errors, "unexpected") {
		t.Errorf("%d %s%s", got.code, got.out, got.errors)
	}
}

func TestAFolderThatAnotherProgramHoldsWithoutListening(t *testing.T) {
	s := newTerminal(t)
	m := s.gadget(sums)
	s.env.patience = 300 * time.Millisecond
	other := s.process("hold")
	s.tryAll(exitData, "in-use")
	_ = other.Process.Kill()
	s.env.patience = 0
	if got := s.run("call", m.Gadget, "add", "1"); got.code != exitOK {
		t.Errorf("after it ended: %d %s%s", got.code, got.out, got.errors)
	}
}

func TestAReadOnlyFolder(t *testing.T) {
	s := newTerminal(t)
	disk := smallDisk(t, "16m")
	s.data = filepath.Join(disk, "data")
	m := s.gadget(sums)
	s.run("call", m.Gadget, "add", "1")
	readOnly(t, disk, true)
	s.tryAll(exitData, "folder")
	readOnly(t, disk, false)
	if got := s.run("call", m.Gadget, "add", "1"); got.out != "2\n" {
		t.Errorf("once it can be written: %d %s%s", got.code, got.out, got.errors)
	}
}

func TestAFullDisk(t *testing.T) {
	s := newTerminal(t)
	disk := smallDisk(t, "16m")
	s.data = filepath.Join(disk, "data")
	m := s.gadget(`import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject {
  async put(k, size) { await this.ctx.storage.put(k, "x".repeat(size)); return k; }
  async keys() { return [...(await this.ctx.storage.list()).keys()]; }
}`)
	if got := s.run("call", m.Gadget, "put", `"first"`, "1000"); got.code != exitOK {
		t.Fatalf("%d %s%s", got.code, got.out, got.errors)
	}
	ballast := filepath.Join(disk, "ballast")
	fill(t, ballast)
	s.refused(exitData, "full", "new", "--blueprint", "board")
	got := s.run("call", m.Gadget, "put", `"second"`, "1500000")
	if got.code == exitOK || !strings.Contains(got.errors, "What to do: Make room on the disk") {
		t.Errorf("a write on a full disk: %d %s%s", got.code, got.out, got.errors)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if got := s.run("call", m.Gadget, "keys"); compact(got.out) != `["first"]` {
		t.Errorf("with room again: %d %s%s", got.code, got.out, got.errors)
	}
	if got := s.run("call", m.Gadget, "put", `"third"`, "1000"); got.code != exitOK {
		t.Errorf("with room again: %d %s%s", got.code, got.out, got.errors)
	}
	// A first start on a full disk.
	fill(t, ballast)
	s.data = filepath.Join(disk, "new")
	s.refused(exitData, "full", "list")
}

// fill writes to path until the disk has no room left.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
}

func TestAPageThatIsMissing(t *testing.T) {
	s := newTerminal(t)
	s.env.Page = func() (fs.FS, error) { return nil, errors.New("run make setup") }
	s.refused(exitFailed, "no-page", "serve")
	if got := s.run("check"); got.code != exitFailed || !strings.Contains(got.out, "FAILED  page") {
		t.Errorf("check: %d %s", got.code, got.out)
	}
}

// A runtime folder that others can open keeps the command line out of a running program, and of nothing else.
func TestARuntimeFolderThatIsNotPrivate(t *testing.T) {
	s := newTerminal(t)
	m := s.gadget(sums)
	if err := os.Chmod(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "toolshed"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := s.run("call", m.Gadget, "add", "1"); got.code != exitOK {
		t.Errorf("with no program running: %d %s%s", got.code, got.out, got.errors)
	}
	s.process("run")
	s.refused(exitFailed, "not-private", "list")
}
