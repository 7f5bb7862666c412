package app

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// names lists a folder, hidden files too.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAFileIsReplacedWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "letter.txt")
	if err := replaceFile(path, 0o666, strings.NewReader("one")); err != nil || content(t, path) != "one" {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		old := os.FileMode(0o640)
		if err := os.Chmod(path, old); err != nil {
			t.Fatal(err)
		}
		if err := replaceFile(path, 0o666, strings.NewReader("two")); err != nil || content(t, path) != "two" {
			t.Error(err)
		}
		if info, _ := os.Stat(path); info.Mode() != old {
			t.Errorf("its mode is %v", info.Mode())
		}
		link := filepath.Join(dir, "link")
		if err := errors.Join(os.Symlink("letter.txt", link), replaceFile(link, 0o666, strings.NewReader("three"))); err != nil || content(t, path) != "three" {
			t.Errorf("through a link: %v", err)
		}
		if info, _ := os.Lstat(link); info.Mode().Type() != fs.ModeSymlink {
			t.Error("the link is none any more")
		}
	}
	broken := errors.New("the pipe broke")
	if err := replaceFile(path, 0o666, io.MultiReader(strings.NewReader("fo"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := replaceFile(dir, 0o666, strings.NewReader("x")); !errors.Is(err, errNoFile) {
		t.Errorf("a folder was replaced: %v", err)
	}
	if got := names(t, dir); content(t, path) == "fo" || got != "letter.txt link" && got != "letter.txt" {
		t.Errorf("after failures: %q in %s", content(t, path), got)
	}
}

// saver is a page before a person who answers the dialog with the path that answer gives.
func saver(t *testing.T, answer func(folder, name string) (string, error)) (*saves, string) {
	t.Helper()
	downloads := t.TempDir()
	return &saves{memory: openMemory(t.TempDir()), downloads: func() string { return downloads }, ask: answer}, downloads
}

func (s *saves) send(ticket, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/save", strings.NewReader(body))
	r.Header.Set(secretHeader, ticket)
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	s.serve(w, r)
	return w
}

func TestAFileIsSavedWhereThePersonSays(t *testing.T) {
	var asked []string
	elsewhere := t.TempDir()
	s, downloads := saver(t, func(folder, name string) (string, error) {
		asked = append(asked, folder)
		return filepath.Join(elsewhere, name), nil
	})
	for range 2 {
		choice := s.choose("list.csv", 3)
		if got := s.send(choice.Ticket, "a,b"); got.Code != http.StatusNoContent || content(t, filepath.Join(elsewhere, "list.csv")) != "a,b" {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
		if got := s.send(choice.Ticket, "c,d"); got.Code != http.StatusForbidden {
			t.Errorf("a ticket was good twice: %d", got.Code)
		}
	}
	if asked[0] != downloads || asked[1] != elsewhere || openMemory(filepath.Dir(s.memory.path)).recall().Folder != elsewhere {
		t.Errorf("it asked in %v", asked)
	}
	os.RemoveAll(elsewhere)
	if s.choose("x", 1); asked[2] != downloads {
		t.Errorf("a folder that is gone was offered: %s", asked[2])
	}
}

func TestOnlyThePageSendsAFile(t *testing.T) {
	s, dir := saver(t, nil)
	s.ask = func(_, name string) (string, error) { return filepath.Join(dir, name), nil }
	if got := s.send("", "x"); got.Code != http.StatusForbidden {
		t.Errorf("without a choice: %d", got.Code)
	}
	ticket := s.choose("x.txt", 1).Ticket
	if len(ticket) != 64 {
		t.Errorf("the ticket is %q", ticket)
	}
	for what, got := range map[string]*httptest.ResponseRecorder{
		"a guess":    s.send(strings.Repeat("0", 64), "x"),
		"no ticket":  s.send("", "x"),
		"a frame":    s.send(ticket, "x", func(r *http.Request) { r.Header.Set("Origin", "null") }),
		"a GET":      s.send(ticket, "x", func(r *http.Request) { r.Method = http.MethodGet }),
		"a longer t": s.send(ticket+"0", "x"),
	} {
		if got.Code != http.StatusForbidden || names(t, dir) != "" {
			t.Errorf("%s: %d, and there is %s", what, got.Code, names(t, dir))
		}
	}
	if got := s.send(ticket, "x"); got.Code != http.StatusNoContent {
		t.Errorf("the page itself: %d", got.Code)
	}
}

func TestAFileThatCannotBeSavedIsSaid(t *testing.T) {
	s, dir := saver(t, nil)
	s.ask = func(_, name string) (string, error) { return filepath.Join(dir, name), nil }
	for name, c := range map[string]struct {
		path, body, why string
	}{
		"less than it said": {"x", "ab", "did not arrive whole"},
		"more than it said": {"x", "abcd", "did not arrive whole"},
		"a folder":          {".", "abc", "not an ordinary file"},
		"no such folder":    {"gone/x", "abc", "not there any more"},
		"too long":          {strings.Repeat("x", 300), "abc", "shorter name"},
	} {
		s.ask = func(string, string) (string, error) { return filepath.Join(dir, c.path), nil }
		got := s.send(s.choose("x", 3).Ticket, c.body)
		if got.Code != http.StatusInternalServerError || !strings.Contains(got.Body.String(), c.why) || names(t, dir) != "" {
			t.Errorf("%s: %d %s; left: %s", name, got.Code, got.Body, names(t, dir))
		}
	}
	s.ask = func(string, string) (string, error) { return "", nil }
	if got := s.choose("x", 3); got != (FileChoice{}) {
		t.Errorf("a no: %+v", got)
	}
	if got := s.choose("x", maxSaved+1); got.Problem == nil || got.Ticket != "" {
		t.Error("a file that is too large was taken")
	}
	s.ask = func(string, string) (string, error) {
		if second := s.choose("y", 1); second.Problem == nil {
			t.Error("a second dialog was opened over the first")
		}
		return "", errors.New("no display")
	}
	if got := s.choose("x", 3); got.Problem == nil || !strings.Contains(got.Problem.Why, "no display") {
		t.Errorf("a dialog that failed: %+v", got)
	}
}

func TestAFilesNameFits(t *testing.T) {
	for name, want := range map[string]string{
		"list.csv":                         "list.csv",
		"":                                 "file",
		"..":                               "file",
		"../../.bashrc":                    "bashrc",
		"a\x00b\n\xff.txt":                 "ab.txt",
		strings.Repeat("🎁", 120) + ".png":  strings.Repeat("🎁", 49) + ".png",
		"x." + strings.Repeat("y", 150):    "x." + strings.Repeat("y", 150),
		strings.Repeat("y", 300):           strings.Repeat("y", 200),
		"a." + strings.Repeat("e", 1_000):  "a." + strings.Repeat("e", 198),
		strings.Repeat(".", 300) + "a.txt": "a.txt",
	} {
		if got := fileName(name); got != want {
			t.Errorf("%.40q became %q", name, got)
		}
	}
}

func TestAMemoryThatIsDamagedIsEmpty(t *testing.T) {
	dir := t.TempDir()
	m := openMemory(dir)
	if err := m.change(func(kept *remembered) { kept.Folder = "/tmp" }); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(m.path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	whole := content(t, m.path)
	for n := range len(whole) - 1 {
		if err := os.WriteFile(m.path, []byte(whole[:n]), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := openMemory(dir).recall(); got.Folder != "" {
			t.Errorf("from %q: %+v", whole[:n], got)
		}
	}
	if err := m.change(func(*remembered) {}); err != nil || openMemory(dir).recall().Folder != "/tmp" {
		t.Errorf("it was not mended: %v", err)
	}
}
