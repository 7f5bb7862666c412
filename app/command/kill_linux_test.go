package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"toolshed/app"
	"toolshed/app/api"
	"toolshed/app/code"
	"toolshed/runtime/capnweb"
)

// The gadget of the kill test. A write is one turn that changes two keys of its writer, far apart in the file, a document that
// is stored in pieces, and the number of all writes.
const ledger = `import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject {
  async write(writer, n) {
    const s = this.ctx.storage;
    const all = ((await s.get("all")) ?? 0) + 1;
    await s.put({ ["a" + writer]: n, ["z" + writer]: n, ["document" + writer]: String(n).repeat(n % 7 === 0 ? 30000 : 3), all });
    return n;
  }
  async read() {
    const s = this.ctx.storage, out = { all: (await s.get("all")) ?? 0, writers: [] };
    for (let w = 0; w < 4; w++) {
      const n = (await s.get("a" + w)) ?? 0, document = (await s.get("document" + w)) ?? "";
      const whole = n === 0 || document === String(n).repeat(n % 7 === 0 ? 30000 : 3);
      out.writers.push({ a: n, z: (await s.get("z" + w)) ?? 0, whole });
    }
    return out;
  }
}`

const ledgerWriters = 4

// ledgerState is what the gadget's read answers.
type ledgerState struct {
	All     float64 `json:"all"`
	Writers []struct {
		A     float64 `json:"a"`
		Z     float64 `json:"z"`
		Whole bool    `json:"whole"`
	} `json:"writers"`
}

// program is a real Toolshed, run by the test from a binary of its own.
type program struct {
	t      *testing.T
	binary string
	data   string
	pause  time.Duration // of a writer between two writes, on average
	cmd    *exec.Cmd
	exited chan struct{}
}

// buildProgram builds the program with the given build tags.
func buildProgram(t *testing.T, tags string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "toolshed")
	out, err := exec.Command("go", "build", "-tags", tags, "-o", binary, "toolshed").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// newProgram makes a data folder with one gadget, whose title is Ledger, of the given code.
func newProgram(t *testing.T, binary, server string) *program {
	t.Helper()
	run, err := os.MkdirTemp("", "shed") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	t.Setenv("XDG_RUNTIME_DIR", run)
	p := &program{t: t, binary: binary, data: filepath.Join(t.TempDir(), "data")}
	t.Setenv("TOOLSHED_DATA", p.data)
	out, err := exec.Command(binary, "new", "--json", "--title", "Ledger", "--blueprint", "board").Output()
	if err != nil {
		t.Fatalf("toolshed new: %v\n%s", err, out)
	}
	var made struct{ Workspace, Gadget string }
	if err := json.Unmarshal(out, &made); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	repository, err := code.Open(filepath.Join(p.data, "workspaces", made.Workspace, "code.git"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repository.Commit(made.Gadget, code.Files{"server.js": []byte(server)}, code.Change{Author: "Ada", Message: "ledger", Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// start starts the program and waits until it listens.
func (p *program) start() {
	p.t.Helper()
	p.cmd = exec.Command(p.binary, "serve", "--json")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var trouble bytes.Buffer
	p.cmd.Stderr = &trouble
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	listening := make(chan error, 1)
	exited := make(chan struct{})
	p.exited = exited
	go func() {
		var said struct{ Link string }
		listening <- json.NewDecoder(out).Decode(&said)
		_ = p.cmd.Wait()
		close(exited)
	}()
	select {
	case err := <-listening:
		if err != nil {
			p.t.Fatalf("toolshed serve: %v\n%s", err, trouble.String())
		}
	case <-time.After(time.Minute):
		p.t.Fatal("toolshed serve does not start")
	}
}

// kill ends the program as a power switch would, and waits until it is gone.
func (p *program) kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	<-p.exited
	p.cmd = nil
}

// killChildren ends the children there are, the spare one among them; false if there is none.
func (p *program) killChildren() bool {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var children []int
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if parent, _ := strconv.Atoi(fields[1]); parent == p.cmd.Process.Pid {
			children = append(children, pid)
		}
	}
	killed := false
	for _, pid := range children {
		killed = syscall.Kill(pid, syscall.SIGKILL) == nil || killed
	}
	return killed
}

func (p *program) attach(ctx context.Context) (*api.Client, error) { return app.Attach(ctx, p.data) }

// call calls a method of the ledger.
func callLedger(ctx context.Context, client *api.Client, method string, args ...any) (any, error) {
	to := capnweb.Object{{Key: "gadget", Value: "Ledger"}, {Key: "method", Value: method}}
	return client.Call(ctx, "call", append([]any{to}, args...)...)
}

// read returns what the ledger holds.
func (p *program) read(ctx context.Context) (s ledgerState) {
	p.t.Helper()
	p.readInto(ctx, &s)
	return s
}

// readInto decodes what the gadget's read answers; it tries again while the gadget restarts.
func (p *program) readInto(ctx context.Context, state any) {
	p.t.Helper()
	client, err := p.attach(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	defer client.Close()
	var last error
	for range 20 {
		answer, err := callLedger(ctx, client, "read")
		if err == nil {
			text, err := formatJSON(answer)
			if err == nil {
				err = json.Unmarshal([]byte(text), state)
			}
			if err != nil {
				p.t.Fatal(err)
			}
			return
		}
		last = err
		time.Sleep(50 * time.Millisecond)
	}
	p.t.Fatalf("the gadget cannot be read: %v", last)
}

// writer is one of the ledger's writers: it writes 1, 2, 3 ... and knows what it sent and what was acknowledged.
type writer struct {
	sent, acknowledged atomic.Int64
}

// writeAll lets the writers write until the program or the child is killed, which happens after some acknowledgements, at once or
// a moment later.
func (p *program) writeAll(ctx context.Context, writers []*writer, rnd *rand.Rand, kill func()) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	left := atomic.Int64{}
	left.Store(1 + rnd.Int64N(40))
	later := time.Duration(0)
	if rnd.IntN(2) == 0 {
		later = time.Duration(rnd.IntN(4000)) * time.Microsecond
	}
	var group sync.WaitGroup
	var killing atomic.Bool
	for n, w := range writers {
		client, err := p.attach(ctx)
		if err != nil {
			p.t.Fatal(err)
		}
		group.Go(func() {
			defer client.Close()
			for {
				next := w.sent.Add(1)
				if _, err := callLedger(ctx, client, "write", float64(n), float64(next)); err != nil {
					if !killing.Load() {
						p.t.Errorf("a write fails although nothing was killed: %v", err)
					}
					return
				}
				w.acknowledged.Store(next)
				if left.Add(-1) == 0 {
					time.Sleep(later)
					killing.Store(true)
					kill()
					cancel()
				}
				time.Sleep(time.Duration(rand.Float64() * 2 * float64(p.pause)))
			}
		})
	}
	group.Wait()
}

// verify compares what is there with what was acknowledged, and returns what is wrong. The writers go on from what is there.
func verify(s ledgerState, writers []*writer) (wrong []string) {
	sum := 0.0
	for n, w := range writers {
		is := s.Writers[n]
		if is.A != is.Z || !is.Whole {
			wrong = append(wrong, fmt.Sprintf("writer %d: a torn turn: %+v", n, is))
		}
		if is.A < float64(w.acknowledged.Load()) {
			wrong = append(wrong, fmt.Sprintf("writer %d: %v is there, %d was acknowledged", n, is.A, w.acknowledged.Load()))
		}
		if is.A > float64(w.sent.Load()) {
			wrong = append(wrong, fmt.Sprintf("writer %d: %v is there, %d was sent", n, is.A, w.sent.Load()))
		}
		w.sent.Store(int64(is.A))
		w.acknowledged.Store(int64(is.A))
		sum += is.A
	}
	if s.All != sum {
		wrong = append(wrong, fmt.Sprintf("there were %v writes, and the writers count %v", s.All, sum))
	}
	return wrong
}

// killOften kills the program and the child in turn, in mid-write, and returns what was wrong after it.
func killOften(t *testing.T, p *program, kills int, seed uint64, enough func(wrong []string) bool) (wrong []string) {
	t.Helper()
	ctx := t.Context()
	rnd := rand.New(rand.NewPCG(seed, 0))
	writers := make([]*writer, ledgerWriters)
	for n := range writers {
		writers[n] = new(writer)
	}
	for k := range kills {
		if p.cmd == nil {
			p.start()
		}
		if k%2 == 0 {
			p.writeAll(ctx, writers, rnd, func() {
				if !p.killChildren() {
					t.Error("there is no child")
				}
			})
		} else {
			p.writeAll(ctx, writers, rnd, func() { _ = p.cmd.Process.Kill() })
			p.kill()
			p.start()
		}
		wrong = append(wrong, verify(p.read(ctx), writers)...)
		if k%2 == 1 {
			p.kill()
		}
		if len(wrong) > 0 && enough(wrong) {
			return wrong
		}
	}
	return wrong
}

// However the program or its child is killed: every acknowledged write is there, and every turn is whole or not there.
func TestKilledPrograms(t *testing.T) {
	kills := count(t, "TOOLSHED_KILLS", 6)
	seed := uint64(time.Now().UnixNano())
	t.Logf("%d kills, seed %d", kills, seed)
	p := newProgram(t, buildProgram(t, "webkit2_41"), ledger)
	for _, w := range killOften(t, p, kills, seed, func(w []string) bool { return len(w) > 5 }) {
		t.Error(w)
	}
}

// The same test finds a program whose answers do not wait for the disk.
func TestKilledProgramThatAnswersEarly(t *testing.T) {
	p := newProgram(t, buildProgram(t, "webkit2_41,mutant"), ledger)
	if wrong := killOften(t, p, 40, uint64(time.Now().UnixNano()), func([]string) bool { return true }); len(wrong) == 0 {
		t.Error("40 kills lost nothing of a program that answers before it saves")
	} else {
		t.Log(wrong[0])
	}
}

// count returns how often a repeated test repeats: the environment's number, or a few.
func count(t *testing.T, name string, few int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is no count", name, text)
	}
	return n
}
