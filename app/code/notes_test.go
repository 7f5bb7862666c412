package code

import (
	"bytes"
	"strings"
	"testing"
)

func TestNotesIsABlueprint(t *testing.T) {
	b, err := FindBlueprint("notes")
	if err != nil {
		t.Fatal(err)
	}
	if b.Title != "Notes" || b.Description == "" || !strings.HasPrefix(b.Thumbnail, "<svg") {
		t.Errorf("the blueprint is %q, %q, %.20q", b.Title, b.Description, b.Thumbnail)
	}
	var listed bool
	for _, other := range Blueprints() {
		listed = listed || other.Name == "notes"
	}
	if !listed {
		t.Error("it is not offered")
	}
}

// A note is what someone else may have written: the page makes nodes of it, never HTML, and asks nothing in a modal window.
func TestNotesHasNoWayFromTextToCode(t *testing.T) {
	b, err := FindBlueprint("notes")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range b.Files {
		for _, way := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser", "localStorage", "confirm(", "prompt(", "alert("} {
			if bytes.Contains(text, []byte(way)) {
				t.Errorf("%s uses %s", name, way)
			}
		}
	}
}

// Two readers of one language would drift apart: a list that someone moves from a card to a note must read the same.
func TestBoardAndNotesReadMarkdownAlike(t *testing.T) {
	board, err := FindBlueprint("board")
	if err != nil {
		t.Fatal(err)
	}
	notes, err := FindBlueprint("notes")
	if err != nil {
		t.Fatal(err)
	}
	text := board.Files["markdown.js"]
	if len(text) == 0 || !bytes.Equal(text, notes.Files["markdown.js"]) {
		t.Error("markdown.js of Board and of Notes differ: copy the better one over the other")
	}
}
