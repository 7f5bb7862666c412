package api

import (
	"context"
	"errors"
	"io"
	"testing"
)

func TestAChannelThatIsNotTakenLosesOnlyItself(t *testing.T) {
	c := &connection{box: newOutbox(), channels: map[int]*channel{}}
	shell, view, other := newChannel(c, 0), newChannel(c, 1), newChannel(c, 2)
	big := make([]byte, maxUnsent/2)
	if err := errors.Join(shell.Send([]byte("s1")), other.Send([]byte("o1")), view.Send(big)); err != nil {
		t.Fatal(err)
	}
	if err := view.Send(big); !errors.Is(err, errUnsent) {
		t.Fatalf("a view over its bound: %v", err)
	}
	if err := view.Send([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a view after that: %v", err)
	}
	view.Close(nil)
	if err := shell.Send([]byte("s2")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0:s1", "2:o1", "1:", "0:s2"} {
		frame, err := c.box.next(context.Background())
		if err != nil || string(frame) != want {
			t.Fatalf("%q, %v came where %q was due", frame, err, want)
		}
	}
	if c.box.bytes != 0 || len(c.box.turns) != 0 {
		t.Errorf("%d bytes and %d channels are left", c.box.bytes, len(c.box.turns))
	}
}

func TestChannelsAreServedInTurn(t *testing.T) {
	c := &connection{box: newOutbox(), channels: map[int]*channel{}}
	busy, shell := newChannel(c, 1), newChannel(c, 0)
	for range 100 {
		if err := busy.Send([]byte("much")); err != nil {
			t.Fatal(err)
		}
	}
	if err := shell.Send([]byte("little")); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		frame, _ := c.box.next(context.Background())
		if string(frame) == "0:little" {
			return
		} else if i == 1 {
			t.Error("the shell waits behind a busy view")
		}
	}
}

func TestAllViewsTogetherAreBounded(t *testing.T) {
	c := &connection{box: newOutbox(), channels: map[int]*channel{}}
	big := make([]byte, maxUnsent-16)
	refused := 0
	for n := 1; n <= 6; n++ {
		if err := newChannel(c, n).Send(big); err != nil {
			refused++
		}
	}
	if refused != 2 {
		t.Errorf("%d of 6 full views were refused", refused)
	}
	if err := newChannel(c, 0).Send(big); err != nil {
		t.Errorf("the shell was refused: %v", err)
	}
}
