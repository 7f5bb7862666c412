package host

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolshed/runtime/host/wire"
)

// A child that does not read what it is sent is ended before it fills the kernel's memory.
func TestChildThatDoesNotRead(t *testing.T) {
	child := startChild(t, fakeConfig())
	r := mustStart(t, child, storeCode)
	if err := syscall.Kill(child.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	frame := wire.Pack(wire.Deliver, r.id).Bytes(make([]byte, 1<<20)).Done()
	for range wire.MaxOutbox>>20 + 2 {
		child.send(frame)
	}
	select {
	case <-child.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("it is still there")
	}
	if err := r.Err(); kind(err) != KindChild || !strings.Contains(err.Error(), "does not read") {
		t.Fatal(err)
	}
}

// The system prefers the child to the kernel when it runs out of memory.
func TestChildIsOffered(t *testing.T) {
	child := startChild(t, fakeConfig())
	own, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		t.Skip(err)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", child.PID()))
	if err != nil || string(b) == string(own) {
		t.Fatalf("%s %v", b, err)
	}
}
