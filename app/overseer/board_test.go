package overseer

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"toolshed/runtime/capnweb"
)

// board is a test's end of a Board: the calls of one person, and the changes that a view of theirs was told.
type board struct {
	t       *testing.T
	k       *Kernel
	ref     Ref
	changes chan capnweb.Object
}

func newBoard(t *testing.T) *board {
	t.Helper()
	k := openKernel(t, t.TempDir())
	ref, err := k.CreateGadget(NewGadget{Blueprint: "board"})
	if err != nil {
		t.Fatal(err)
	}
	return &board{t, k, ref, nil}
}

func (b *board) do(method string, args ...any) any {
	b.t.Helper()
	return must(b.t, b.k, b.ref, method, args...)
}

func (b *board) refused(method string, args ...any) string {
	b.t.Helper()
	_, err := call(b.t, b.k, b.ref, method, args...)
	if err == nil {
		b.t.Fatalf("%s was not refused", method)
	}
	return err.Error()
}

func get(v any, key string) any {
	x, _ := v.(capnweb.Object).Get(key)
	return x
}

// layout is the board in one line: "To do: a b | Doing: | Done: c".
func layout(v any) string {
	titles := map[any]string{}
	for _, c := range get(v, "cards").([]any) {
		titles[get(c, "id")] = get(c, "title").(string)
	}
	var columns []string
	for _, c := range get(v, "columns").([]any) {
		line := get(c, "title").(string) + ":"
		for _, id := range get(c, "cards").([]any) {
			line += " " + titles[id]
		}
		columns = append(columns, line)
	}
	return strings.Join(columns, " | ")
}

func (b *board) expect(want string) {
	b.t.Helper()
	if got := layout(b.do("snapshot")); got != want {
		b.t.Errorf("the board is %q, not %q", got, want)
	}
}

func (b *board) column(n int) any { return get(get(b.do("snapshot"), "columns").([]any)[n], "id") }

// watch opens a view and returns the function that closes it.
func (b *board) watch() func() {
	b.t.Helper()
	b.changes = make(chan capnweb.Object, 100)
	changes := b.changes
	view := capnweb.NewStub(capnweb.Methods{"changed": func(ctx context.Context, args []any) (any, error) {
		changes <- args[0].(capnweb.Object)
		return nil, nil
	}})
	b.do("watch", view)
	return view.Dispose
}

func (b *board) told() capnweb.Object {
	b.t.Helper()
	select {
	case c := <-b.changes:
		return c
	case <-time.After(10 * time.Second):
		b.t.Fatal("the view was told nothing")
		return nil
	}
}

func TestBoardCardsMoveWhereTheyArePut(t *testing.T) {
	b := newBoard(t)
	b.expect("To do: | Doing: | Done:")
	todo, doing := b.column(0), b.column(1)
	first := b.do("addCard", todo, "first")
	b.do("addCard", todo, "second")
	third := b.do("addCard", todo, " third ", 0)
	b.expect("To do: third first second | Doing: | Done:")
	b.do("moveCard", third, todo, 2)
	b.expect("To do: first second third | Doing: | Done:")
	b.do("moveCard", first, doing, 0)
	b.do("moveCard", third, doing)
	b.expect("To do: second | Doing: first third | Done:")
	b.do("moveColumn", doing, 0)
	b.expect("Doing: first third | To do: second | Done:")
	b.do("renameColumn", doing, "Now")
	late := b.do("addColumn", "Later")
	b.do("moveCard", first, late, 99)
	b.expect("Now: third | To do: second | Done: | Later: first")
}

func TestBoardArchive(t *testing.T) {
	b := newBoard(t)
	todo := b.column(0)
	one, two := b.do("addCard", todo, "one"), b.do("addCard", todo, "two")
	if why := b.refused("deleteCard", one); !strings.Contains(why, "Archive") {
		t.Error(why)
	}
	b.do("archiveCard", one)
	b.expect("To do: two | Doing: | Done:")
	if why := b.refused("moveCard", one, todo, 0); !strings.Contains(why, "Restore") {
		t.Error(why)
	}
	b.do("restoreCard", one)
	b.expect("To do: one two | Doing: | Done:")
	b.do("removeColumn", todo)
	b.expect("Doing: | Done:")
	b.do("restoreCard", two)
	b.expect("Doing: two | Done:")
	b.do("deleteCard", one)
	if n := len(get(b.do("snapshot"), "cards").([]any)); n != 1 {
		t.Errorf("%d cards are left", n)
	}
	b.refused("restoreCard", one)
}

func TestBoardTellsEveryView(t *testing.T) {
	b := newBoard(t)
	todo := b.column(0)
	close := b.watch()
	card := b.do("addCard", todo, "news")
	change := b.told()
	if get(change, "columns") == nil || len(get(change, "cards").([]any)) != 1 || get(change, "revision") != 1.0 {
		t.Errorf("a new card was told as %v", change)
	}
	b.do("editCard", card, capnweb.Object{{Key: "body", Value: "- [ ] milk"}})
	change = b.told()
	if got := get(get(change, "cards").([]any)[0], "body"); got != "- [ ] milk" {
		t.Errorf("an edit was told as %v", change)
	}
	mine := b.changes
	defer b.watch()()
	close()
	b.do("addCard", todo, "after")
	b.told()
	b.do("addCard", todo, "again")
	b.told()
	for len(mine) > 0 {
		if len(get(<-mine, "cards").([]any)) == 0 {
			t.Error("a closed view was told nonsense")
		}
	}
}

func TestBoardSurvivesARestart(t *testing.T) {
	b := newBoard(t)
	todo, done := b.column(0), b.column(2)
	card := b.do("addCard", todo, "kept")
	b.do("moveCard", card, done, 0)
	if err := b.k.Restart(b.ref); err != nil {
		t.Fatal(err)
	}
	b.expect("To do: | Doing: | Done: kept")
}

func TestBoardRefusesWhatItCannotShow(t *testing.T) {
	b := newBoard(t)
	todo := b.column(0)
	for _, c := range []struct {
		method string
		args   []any
		want   string
	}{
		{"addCard", []any{todo, ""}, "empty"},
		{"addCard", []any{todo, "   "}, "empty"},
		{"addCard", []any{todo, strings.Repeat("x", 501)}, "501"},
		{"addCard", []any{todo, 7}, "text"},
		{"addCard", []any{"nowhere", "x"}, "column"},
		{"addCard", []any{todo, "x", "first"}, "number"},
		{"editCard", []any{"nothing", capnweb.Object{{Key: "title", Value: "x"}}}, "card"},
		{"renameColumn", []any{todo, ""}, "empty"},
		{"load", nil, "not a function"},
		{"constructor", nil, "not a function"},
	} {
		if why := b.refused(c.method, c.args...); !strings.Contains(why, c.want) {
			t.Errorf("%s(%v): %s", c.method, c.args, why)
		}
	}
	b.expect("To do: | Doing: | Done:")
}

func TestBoardHoldsManyCards(t *testing.T) {
	b := newBoard(t)
	todo := b.column(0)
	for i := range 300 {
		b.do("addCard", todo, fmt.Sprint("card ", i))
	}
	if n := len(get(get(b.do("snapshot"), "columns").([]any)[0], "cards").([]any)); n != 300 {
		t.Errorf("the column holds %d cards", n)
	}
}
