package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"toolshed/app/overseer"
	"toolshed/app/profile"
	"toolshed/runtime/capnweb"
)

func TestAFolderThatCannotBeUsedIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(data string) error
		want  error
	}{
		"a file": {func(data string) error { return os.WriteFile(data, []byte("mine"), 0o600) }, profile.ErrFolder},
		"workspaces is a file": {func(data string) error {
			return errors.Join(os.Mkdir(data, 0o700), os.WriteFile(filepath.Join(data, "workspaces"), []byte("mine"), 0o600))
		}, profile.ErrFolder},
		"profile.db is a folder": {func(data string) error { return os.MkdirAll(filepath.Join(data, "profile.db", "x"), 0o700) }, nil},
		"profile.db is rubbish": {func(data string) error {
			return errors.Join(os.Mkdir(data, 0o700), os.WriteFile(filepath.Join(data, "profile.db"), []byte("mine"), 0o600))
		}, nil},
	} {
		data, _ := places(t)
		if err := c.spoil(data); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a failed start lets go of the folder
			p, err := Open(context.Background(), settings(data))
			if err == nil {
				p.Close()
			}
			if err == nil || c.want != nil && !errors.Is(err, c.want) || errors.Is(err, profile.ErrInUse) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, file := range []string{data, filepath.Join(data, "workspaces"), filepath.Join(data, "profile.db")} {
			if text, err := os.ReadFile(file); err == nil && len(text) != 4 && strings.HasSuffix(name, filepath.Base(file)) {
				t.Errorf("%s: %s was changed", name, file)
			}
		}
	}
}

// pairs writes the same number under two keys in one turn, and keeps every number it was given.
const pairs = `import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject {
  async write(n) {
    const s = this.ctx.storage;
    await s.put("a", n); await s.put("n" + String(n).padStart(9, "0"), n); await s.put("b", n);
    return n;
  }
  async read() {
    const s = this.ctx.storage;
    return [(await s.get("a")) ?? 0, (await s.get("b")) ?? 0, (await s.list({ prefix: "n" })).size];
  }
  async slow(ms) { await new Promise((r) => setTimeout(r, ms)); await this.ctx.storage.put("a", -1); return "done"; }
  never() { return new Promise(() => {}); }
}`

func read(t *testing.T, p *Program, ref overseer.Ref) (a, b, n int) {
	t.Helper()
	client := p.Client(context.Background())
	defer client.Close()
	v, err := call(short(t), client, ref, "read")
	if err != nil {
		t.Fatal(err)
	}
	list := v.([]any)
	return int(list[0].(float64)), int(list[1].(float64)), int(list[2].(float64))
}

// A program that closes lets the clients that are attached get their answers, and keeps what it has answered.
func TestClosingLosesNothing(t *testing.T) {
	data, _ := places(t)
	p := open(t, data)
	ref := gadget(t, p, pairs)
	client := attach(t, data)
	for n := 1; n <= 20; n++ {
		if _, err := call(short(t), client, ref, "write", n); err != nil {
			t.Fatal(err)
		}
	}
	answered := make(chan error, 1)
	go func() {
		v, err := call(short(t), client, ref, "slow", 300)
		if err == nil && v != "done" {
			err = fmt.Errorf("it answered %v", v)
		}
		client.Close()
		answered <- err
	}()
	time.Sleep(100 * time.Millisecond) // the call is under way
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("the call that was under way: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	again := open(t, data)
	if a, b, n := read(t, again, ref); a != -1 || b != 20 || n != 20 {
		t.Errorf("afterwards it holds %d, %d and %d numbers", a, b, n)
	}
}

// A program that is told to end does not wait for clients.
func TestEndingDoesNotWaitForClients(t *testing.T) {
	data, _ := places(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p, err := Open(ctx, settings(data))
	if err != nil {
		t.Fatal(err)
	}
	ref := gadget(t, p, pairs)
	client := attach(t, data)
	lost := make(chan error, 1)
	go func() {
		_, err := call(short(t), client, ref, "never")
		lost <- err
	}()
	time.Sleep(200 * time.Millisecond)
	began := time.Now()
	cancel()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	if err := <-lost; err == nil {
		t.Error("a call that never ends came back")
	}
}

// kills is how often a program that writes is killed: TOOLSHED_KILLS, or 3.
func kills(t *testing.T) int {
	text := os.Getenv("TOOLSHED_KILLS")
	if text == "" {
		return 3
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("TOOLSHED_KILLS is %q", text)
	}
	return n
}

// Every call that was answered before a kill is there after it, and no turn is half there.
func TestAKilledProgramKeepsWhatItAnswered(t *testing.T) {
	data, run := places(t)
	p := open(t, data)
	ref := gadget(t, p, pairs)
	p.Close()
	answered, total := 0, kills(t)
	for kill := range total {
		w := startWriter(t, data, run, ref)
		stored := w.next("have ")
		if stored < answered {
			t.Fatalf("kill %d: %d calls were answered, %d are stored", kill, answered, stored)
		}
		answered = w.next("answered ")
		time.AfterFunc(time.Duration(10+kill*37%170)*time.Millisecond, func() { _ = w.cmd.Process.Kill() })
		for w.lines.Scan() { // until the pipe breaks
			if n, ok := number(w.lines.Text(), "answered "); ok {
				answered = n
			}
		}
		_ = w.cmd.Wait()
	}
	p = open(t, data)
	a, b, n := read(t, p, ref)
	if a < answered || a != b || a != n {
		t.Errorf("%d calls were answered; stored are %d and %d of %d numbers", answered, a, b, n)
	}
	p.Close()
	eventually(t, "no child outlives its program", func() bool { return children() == 0 })
	t.Logf("%d kills, %d calls answered, %d stored", total, answered, n)
}

type writer struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startWriter(t *testing.T, data, run string, ref overseer.Ref) *writer {
	t.Helper()
	cmd := exec.Command(os.Args[0], "write-until-killed", data, ref.Gadget)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+run)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	watchdog := time.AfterFunc(60*time.Second, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { watchdog.Stop() })
	return &writer{t, cmd, bufio.NewScanner(out)}
}

func number(line, prefix string) (int, bool) {
	text, found := strings.CutPrefix(line, prefix)
	n, err := strconv.Atoi(text)
	return n, found && err == nil
}

func (w *writer) next(prefix string) int {
	w.t.Helper()
	for w.lines.Scan() {
		if n, ok := number(w.lines.Text(), prefix); ok {
			return n
		}
		w.t.Errorf("the writer said %s", w.lines.Text())
	}
	w.t.Fatal("the writer ended by itself")
	return 0
}

// writeUntilKilled opens the program and writes, several calls under way at once, printing each that was answered.
func writeUntilKilled(data, gadgetID string) {
	ctx := context.Background()
	p, err := Open(ctx, settings(data))
	if err != nil {
		fmt.Println("open:", err)
		os.Exit(1)
	}
	ref, err := p.Kernel.Resolve(gadgetID)
	if err != nil {
		fmt.Println("resolve:", err)
		os.Exit(1)
	}
	stub, err := p.Kernel.Connect(ref)
	if err != nil {
		fmt.Println("connect:", err)
		os.Exit(1)
	}
	v, err := stub.Call(ctx, "read").Await(ctx)
	list, ok := v.([]any)
	if err != nil || !ok || list[0] != list[1] || list[0] != list[2] {
		fmt.Println("a turn is half there:", v, err)
		os.Exit(1)
	}
	n := int(list[0].(float64))
	fmt.Println("have", n)
	var under []*capnweb.Promise
	for {
		n++
		under = append(under, stub.Call(ctx, "write", n))
		if len(under) < 4 {
			continue
		}
		first, err := under[0].Await(ctx)
		if err != nil {
			fmt.Println("write:", err)
			os.Exit(1)
		}
		under = under[1:]
		fmt.Println("answered", int(first.(float64)))
	}
}

// children counts the processes of the sandbox's role that this test binary started and that still run.
func children() int {
	if runtime.GOOS != "linux" {
		return 0
	}
	found := 0
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		text, _ := os.ReadFile(name)
		if strings.HasPrefix(string(text), os.Args[0]+"\x00gadget-host") {
			found++
		}
	}
	return found
}
