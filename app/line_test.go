package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// newTestLine is a line whose events come out of a channel.
func newTestLine(t *testing.T) (*line, chan map[string]any) {
	t.Helper()
	events := make(chan map[string]any, 100)
	l := newLine(func(e map[string]any) { events <- e })
	t.Cleanup(func() { l.end() })
	return l, events
}

func next(t *testing.T, events chan map[string]any) map[string]any {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(10 * time.Second):
		t.Fatal("no event came")
		return nil
	}
}

func TestLinePutsBatchesInOrder(t *testing.T) {
	l, _ := newTestLine(t)
	for _, seq := range []int{3, 1, 4, 2} {
		if err := l.take(seq, []string{fmt.Sprint(seq, "a"), fmt.Sprint(seq, "b")}); err != nil {
			t.Fatal(err)
		}
	}
	for seq := 1; seq <= 4; seq++ {
		for _, part := range []string{"a", "b"} {
			frame, err := l.Receive(context.Background())
			if err != nil || string(frame) != fmt.Sprint(seq, part) {
				t.Fatalf("frame %q, %v where %d%s was due", frame, err, seq, part)
			}
		}
	}
}

func TestLineClosesOnAPageThatBreaksItsBounds(t *testing.T) {
	for name, misbehave := range map[string]func(*line) error{
		"a batch twice":         func(l *line) error { return errors.Join(l.take(1, nil), l.take(1, nil)) },
		"a waiting batch twice": func(l *line) error { return errors.Join(l.take(5, nil), l.take(5, nil)) },
		"too many ahead": func(l *line) (err error) {
			for seq := 2; seq < maxAhead+3 && err == nil; seq++ {
				err = l.take(seq, nil)
			}
			return err
		},
		"too many bytes": func(l *line) (err error) {
			big := strings.Repeat("x", maxUnread/4)
			for seq := 1; seq < 8 && err == nil; seq++ {
				err = l.take(seq, []string{big})
			}
			return err
		},
	} {
		l, events := newTestLine(t)
		if err := misbehave(l); err == nil {
			t.Errorf("%s was taken", name)
		}
		if e := next(t, events); e["closed"] != true {
			t.Errorf("%s: the page was told %v", name, e)
		}
		if err := l.Send([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: the line still sends: %v", name, err)
		}
	}
}

func TestLineSendsSmallBatchesAsEventsAndLargeOnesToBeFetched(t *testing.T) {
	l, events := newTestLine(t)
	if err := l.Send([]byte("small")); err != nil {
		t.Fatal(err)
	}
	if e := next(t, events); e["seq"] != 1 || e["frames"].([]string)[0] != "small" {
		t.Errorf("the small batch came as %v", e)
	}
	if err := l.Send(make([]byte, smallBatch+1)); err != nil {
		t.Fatal(err)
	}
	e := next(t, events)
	id, found := strings.CutPrefix(e["fetch"].(string), "/pipe/")
	if !found || e["seq"] != 2 {
		t.Fatalf("the large batch came as %v", e)
	}
	if frames, ok := l.pickUp(id); !ok || len(frames[0]) != smallBatch+1 {
		t.Errorf("the large batch is %d frames, %v", len(frames), ok)
	}
	if _, ok := l.pickUp(id); ok {
		t.Error("the large batch was given out twice")
	}
	if _, ok := (*line)(nil).pickUp(id); ok {
		t.Error("a pipe that is not open gave a batch out")
	}
}

func TestLineWaitsForAPageThatDoesNotFetch(t *testing.T) {
	l, events := newTestLine(t)
	for range 4 {
		if err := l.Send(make([]byte, maxUnsent/4)); err != nil {
			t.Fatal(err)
		}
		next(t, events) // announced, not fetched
	}
	sent := make(chan error, 1)
	go func() { sent <- l.Send([]byte("one more")) }()
	select {
	case err := <-sent:
		t.Fatalf("more was queued than the bound (%v)", err)
	case <-time.After(50 * time.Millisecond):
	}
	if _, ok := l.pickUp("1"); !ok {
		t.Fatal("the first batch is not there")
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	go func() { sent <- l.Send(make([]byte, maxUnsent/2)) }()
	l.expire("2")
	if err := <-sent; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("after a batch was not fetched in time, Send gave %v", err)
	}
}
