package overseer

import (
	"fmt"
	"strings"
	"testing"
)

// newNotes makes a notebook. The helpers of board do for it as well: both are called, told and refused in the same way.
func newNotes(t *testing.T) *board {
	t.Helper()
	k := openKernel(t, t.TempDir())
	ref, err := k.CreateGadget(NewGadget{Blueprint: "notes"})
	if err != nil {
		t.Fatal(err)
	}
	return &board{t, k, ref, nil}
}

// found is the titles that a search gives, best first: "Bread | Soup".
func (b *board) found(query string) string {
	b.t.Helper()
	var titles []string
	for _, hit := range get(b.do("search", query), "hits").([]any) {
		titles = append(titles, joined(get(hit, "title")))
	}
	return strings.Join(titles, " | ")
}

// joined puts [piece, hit] pairs together; a hit stands in brackets.
func joined(pieces any) string {
	var out strings.Builder
	for _, p := range pieces.([]any) {
		if pair := p.([]any); pair[1] == true {
			fmt.Fprintf(&out, "[%s]", pair[0])
		} else {
			fmt.Fprint(&out, pair[0])
		}
	}
	return out.String()
}

func (b *board) text(id any) string {
	b.t.Helper()
	return get(b.do("read", id), "text").(string)
}

func TestNotesAreSearchedAsTheyStand(t *testing.T) {
	b := newNotes(t)
	bread := b.do("add", "# Bread\nFlour, water, salt. #kitchen\n")
	b.do("add", "# Soup\nGoes well with bread from the café.\n#kitchen #winter")
	b.do("add", "Car\nOil `#kitchen` 5W-30, http://example.com/#winter")
	for query, want := range map[string]string{
		"bread":      "[Bread] | Soup",
		"BRE":        "[Bread] | Soup",
		"bread salt": "[Bread]",
		"cafe":       "Soup",
		"#winter":    "Soup",
		"#kitchen":   "",
		"nothing":    "",
		"":           "",
		"**":         "",
	} {
		if query == "#kitchen" {
			if n := get(b.do("search", query), "all"); n != 2.0 {
				t.Errorf("%q finds %v notes", query, n)
			}
			continue
		}
		if got := b.found(query); got != want {
			t.Errorf("%q finds %q, not %q", query, got, want)
		}
	}
	hit := get(b.do("search", "salt"), "hits").([]any)[0]
	if got := joined(get(hit, "text")); got != "Flour, water, [salt]. #kitchen" {
		t.Errorf("the snippet is %q", got)
	}
	b.do("edit", bread, "# Cake\nSugar", b.text(bread))
	if got := b.found("bread"); got != "Soup" {
		t.Errorf("after the edit, bread finds %q", got)
	}
	if got := b.found("sugar"); got != "Cake" {
		t.Errorf("after the edit, sugar finds %q", got)
	}
	b.do("remove", bread)
	if got := b.found("sugar"); got != "" {
		t.Errorf("a note in the trash is found: %q", got)
	}
	b.do("restore", bread)
	if err := b.k.Restart(b.ref); err != nil {
		t.Fatal(err)
	}
	if got := b.found("sug"); got != "[Cake]" && got != "Cake" {
		t.Errorf("after a restart, sug finds %q", got)
	}
}

func TestNotesEditedByTwoAtOnceLoseNothing(t *testing.T) {
	b := newNotes(t)
	base := "List\n\none\n\ntwo\n\nthree"
	id := b.do("add", base)
	if got := get(b.do("edit", id, "List\n\nONE\n\ntwo\n\nthree", base), "outcome"); got != "saved" {
		t.Errorf("the first edit was %v", got)
	}
	second := b.do("edit", id, "List\n\none\n\ntwo\n\nTHREE\nfour", base)
	want := "List\n\nONE\n\ntwo\n\nTHREE\nfour"
	if get(second, "outcome") != "merged" || get(second, "text") != want || b.text(id) != want {
		t.Errorf("two edits of other lines gave %v", second)
	}
	third := b.do("edit", id, "List\n\neins\n\ntwo\n\nthree", base)
	if get(third, "outcome") != "copied" || b.text(id) != want {
		t.Fatalf("two edits of one line gave %v, and the note reads %q", third, b.text(id))
	}
	if got := b.text(get(third, "copy")); got != "List (conflict copy)\n\neins\n\ntwo\n\nthree" {
		t.Errorf("the copy reads %q", got)
	}
	b.do("remove", id)
	late := b.do("edit", id, want+"\nfive", want)
	if get(late, "outcome") != "copied" || !strings.HasSuffix(b.text(get(late, "copy")), "\nfive") {
		t.Errorf("an edit of a deleted note gave %v", late)
	}
}

func TestNotesMergeAsPeopleWrite(t *testing.T) {
	b := newNotes(t)
	for _, c := range []struct{ base, first, second, want string }{
		{"The quick brown fox", "The very quick brown fox", "The quick brown old fox", "The very quick brown old fox"},
		{"List\n- a", "List\n- a\n- milk", "List\n- a\n- bread", "List\n- a\n- milk\n- bread"},
		{"List\n- a\n", "List\n- a\n- milk", "List\n- a\n- bread", "List\n- a\n- milk\n- bread"},
		{"List\n- a", "List\n- a\n- milk\n- tea", "List\n- a\n- milk", "List\n- a\n- milk\n- tea"},
		{"a\nb\nc", "a\nc", "a\nb\nC", "a\nC"},
		{"one two", "one zwei", "one deux", ""},
		{"one two", "one zwei", "one", ""},
		{"one two", "one three two", "one four two", ""},
	} {
		id := b.do("add", c.base)
		b.do("edit", id, c.first, c.base)
		second := b.do("edit", id, c.second, c.base)
		got := b.text(id)
		if c.want == "" {
			if get(second, "outcome") != "copied" || got != c.first || b.text(get(second, "copy")) != c.second+" (conflict copy)" {
				t.Errorf("%q and %q, from %q: %v, and the note reads %q", c.first, c.second, c.base, second, got)
			}
		} else if got != c.want {
			t.Errorf("%q and %q, from %q, became %q, not %q", c.first, c.second, c.base, got, c.want)
		}
	}
}

func TestNotesDiscardOnlyWhatIsBlank(t *testing.T) {
	b := newNotes(t)
	blank, written := b.do("add", " \n"), b.do("add", "x")
	if b.do("discard", written) != false || b.text(written) != "x" {
		t.Error("a written note was discarded")
	}
	if b.do("discard", blank) != true || b.do("discard", blank) != false {
		t.Error("a blank note was not discarded once")
	}
	if why := b.refused("read", blank); !strings.Contains(why, "not there") {
		t.Error(why)
	}
}

// A notebook filled to its limit with words of which none is like another still opens, is searched and can be written in.
func TestNotesAtTheirLimit(t *testing.T) {
	b := newNotes(t)
	var last any
	for n := range 20 {
		var text strings.Builder
		fmt.Fprintf(&text, "Full %d\n", n)
		for i, left := 0, 199_900; left > 12; i++ {
			word := fmt.Sprintf(" ż%dx%d", n, i)
			left -= len(word) - 1 // its first letter is two bytes and one character
			text.WriteString(word)
		}
		last = b.do("add", text.String())
	}
	if why := b.refused("add", strings.Repeat("x", 100_000)); !strings.Contains(why, "4000000 characters") {
		t.Error(why)
	}
	if err := b.k.Restart(b.ref); err != nil {
		t.Fatal(err)
	}
	if got := b.found("z19x777"); got != "Full 19" {
		t.Errorf("one word is found as %q", got)
	}
	b.do("edit", last, "Little", b.text(last))
	if got := b.found("little"); got != "[Little]" {
		t.Errorf("after the edit: %q", got)
	}
}

func TestNotesTellEveryView(t *testing.T) {
	b := newNotes(t)
	defer b.watch()()
	id := b.do("add", "News #today")
	note := get(b.told(), "notes").([]any)[0]
	if get(note, "id") != id || get(note, "title") != "News #today" {
		t.Errorf("a new note was told as %v", note)
	}
	if tags := get(note, "tags").([]any); len(tags) != 1 || tags[0] != "today" {
		t.Errorf("its tags are %v", tags)
	}
	b.do("pin", id, true)
	if note = get(b.told(), "notes").([]any)[0]; get(note, "pinned") != true {
		t.Errorf("a pin was told as %v", note)
	}
}

func TestNotesTrash(t *testing.T) {
	b := newNotes(t)
	id := b.do("add", "Keep me")
	if why := b.refused("empty", id); !strings.Contains(why, "trash") {
		t.Error(why)
	}
	b.do("remove", id)
	if err := b.k.Restart(b.ref); err != nil {
		t.Fatal(err)
	}
	b.do("restore", id)
	if got := b.found("keep"); got != "[Keep] me" {
		t.Errorf("the restored note is found as %q", got)
	}
	b.do("remove", id)
	b.do("empty")
	if why := b.refused("read", id); !strings.Contains(why, "not there") {
		t.Error(why)
	}
}

// attach sends bytes as the page does, piece by piece, and returns the attachment's id.
func (b *board) attach(note any, name string, data []byte) any {
	b.t.Helper()
	begun := b.do("attach", note, name, "image/png", len(data))
	id, size := get(begun, "id"), int(get(begun, "part").(float64))
	for done := false; !done; {
		piece := data[:min(size, len(data))]
		data = data[len(piece):]
		done = b.do("append", id, piece) == true
		if !done && len(data) == 0 {
			b.t.Fatal("all of it was sent, and it is not complete")
		}
	}
	return id
}

const tenMegabytes = 10 * 1024 * 1024

func TestNotesAttachmentOfTheLargestSize(t *testing.T) {
	b := newNotes(t)
	note := b.do("add", "Photo")
	data := make([]byte, tenMegabytes)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	id := b.attach(note, "big.png", data)
	b.do("edit", note, fmt.Sprintf("Photo\n![big.png](attachment:%s)", id), "Photo")
	if err := b.k.Restart(b.ref); err != nil {
		t.Fatal(err)
	}
	file := get(b.do("read", note), "files").([]any)[0]
	if get(file, "size") != float64(tenMegabytes) || get(file, "name") != "big.png" {
		t.Fatalf("the attachment is %v", file)
	}
	var back []byte
	for n := range int(get(file, "parts").(float64)) {
		back = append(back, b.do("part", id, n).([]byte)...)
	}
	if string(back) != string(data) {
		t.Errorf("%d bytes came back, and they differ", len(back))
	}
	b.do("remove", note)
	b.do("empty")
	if why := b.refused("part", id, 0); !strings.Contains(why, "not there") {
		t.Error(why)
	}
}

func TestNotesRefuseWhatDoesNotFit(t *testing.T) {
	b := newNotes(t)
	note := b.do("add", "Photo")
	half := get(b.do("attach", note, "half.bin", "", 2_000_000), "id")
	for _, c := range []struct {
		method string
		args   []any
		want   string
	}{
		{"attach", []any{note, "film.mp4", "video/mp4", tenMegabytes + 1}, "“film.mp4” has 10.1 MB; an attachment has at most 10 MB."},
		{"attach", []any{note, "x", "", -1}, "number of bytes"},
		{"attach", []any{"nothing", "x", "", 1}, "not there"},
		{"append", []any{"nothing", []byte{1}}, "Attach the file again"},
		{"append", []any{half, "text"}, "bytes"},
		{"append", []any{half, []byte{1}}, "does not fit"},
		{"append", []any{half, []byte{1}}, "Attach the file again"},
		{"part", []any{half, 0}, "not there"},
		{"add", []any{strings.Repeat("x", 200_001)}, "200001"},
		{"add", []any{7}, "text"},
		{"edit", []any{note, "x", nil}, "text"},
		{"edit", []any{"nothing", "x", "x"}, "not there"},
		{"search", []any{7}, "text"},
		{"note", []any{note}, "not a function"},
	} {
		if why := b.refused(c.method, c.args...); !strings.Contains(why, c.want) {
			t.Errorf("%s(%.60v): %s", c.method, c.args, why)
		}
	}
	if got := b.text(note); got != "Photo" {
		t.Errorf("the note reads %q", got)
	}
}

func TestNotesSearchesAThousand(t *testing.T) {
	b := newNotes(t)
	filler := strings.Repeat("words that stand in every note and say little\n", 20)
	for i := range 1000 {
		b.do("add", fmt.Sprintf("Note %d\n%sunique%d", i, filler, i))
	}
	if got := b.found("unique777"); got != "Note 777" {
		t.Errorf("one of a thousand is found as %q", got)
	}
	every := b.do("search", "words every")
	if get(every, "all") != 1000.0 || len(get(every, "hits").([]any)) != 100 {
		t.Errorf("a common word finds %v, and shows %d", get(every, "all"), len(get(every, "hits").([]any)))
	}
	if n := len(get(b.do("snapshot"), "notes").([]any)); n != 1000 {
		t.Errorf("the snapshot holds %d notes", n)
	}
}
