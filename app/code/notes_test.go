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
