package guest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestParts finds a part that is written and not listed, and a part whose text would change how others parse.
func TestParts(t *testing.T) {
	files, err := os.ReadDir("prelude")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file.Name(), ".js") && !slices.Contains(parts, file.Name()) {
			t.Errorf("prelude/%s is in no list", file.Name())
		}
	}
	late, err := prelude.ReadDir("prelude/late")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, part := range lateParts {
		listed = append(listed, part.files...)
	}
	for _, file := range late {
		if !slices.Contains(listed, file.Name()) {
			t.Errorf("prelude/late/%s is in no list", file.Name())
		}
		// Lines lose their indent, and comments go: a text over more lines than one would change.
		for n, line := range strings.Split(source("late/"+file.Name()), "\n") {
			if strings.Count(line, "`")%2 != 0 {
				t.Errorf("prelude/late/%s:%d: a text goes on over the end of its line", file.Name(), n+1)
			}
		}
	}
	for _, name := range parts {
		text, err := prelude.ReadFile("prelude/" + name)
		if err != nil || !strings.HasSuffix(string(text), "\n") {
			t.Errorf("prelude/%s does not end with a line break (%v)", name, err)
		}
	}
	if strings.Contains(Workers(), "__host") {
		t.Error("the module cloudflare:workers reaches for the host")
	}
}
