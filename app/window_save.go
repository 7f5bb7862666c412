package app

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"unicode"
	"unicode/utf8"

	"toolshed/app/api"
)

const (
	maxSaved     = 512 << 20 // bytes of a file that a gadget gives
	maxNameBytes = 200       // of a file's name: systems take 255, of which a suffix may need some
	secretHeader = "X-Toolshed-Secret"
)

// saves puts files of gadgets where the person says. The page has shown the file and asked; then the system's own dialog
// asks where (choose), and the page sends the bytes with the ticket that it got (serve). A ticket is good for one file, at
// the one place that the person chose: the page itself names none.
type saves struct {
	ask       func(folder, name string) (path string, err error) // shows the dialog; no path if the person said no
	downloads func() string                                      // the system's folder for what was downloaded, or nothing
	memory    *memory

	mu     sync.Mutex
	asking bool
	due    *dueFile
}

// dueFile is a place that the person chose for a file whose bytes are to come.
type dueFile struct {
	ticket string
	path   string
	size   int64
}

// FileChoice is where a file goes: a ticket for its bytes; neither ticket nor problem if the person said no.
type FileChoice struct {
	Ticket  string       `json:"ticket,omitempty"`
	Problem *api.Problem `json:"problem,omitempty"`
}

// choose asks the person where a file of that many bytes is to go.
func (s *saves) choose(name string, size int64) FileChoice {
	name = fileName(name)
	if size < 0 || size > maxSaved {
		return FileChoice{Problem: &api.Problem{Kind: "save", What: fmt.Sprintf("“%s” was not saved", name), Why: fmt.Sprintf("it is larger than the %d MB that the window saves", maxSaved>>20), Todo: "Let the gadget give it in parts."}}
	}
	s.mu.Lock()
	if s.asking {
		s.mu.Unlock()
		return FileChoice{Problem: &api.Problem{Kind: "save", What: fmt.Sprintf("“%s” was not saved", name), Why: "you are being asked where another file is to go", Todo: "Answer that first."}}
	}
	s.asking, s.due = true, nil
	s.mu.Unlock()
	path, err := s.ask(s.folder(), name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = false
	switch {
	case err != nil:
		return FileChoice{Problem: saveProblem(name, err)}
	case path == "":
		return FileChoice{}
	}
	s.due = &dueFile{ticket: newSecret(), path: path, size: size}
	return FileChoice{Ticket: s.due.ticket}
}

// folder is where the person saved last, else where downloads go, else nothing: the dialog then chooses.
func (s *saves) folder() string {
	for _, dir := range []string{s.memory.recall().Folder, s.downloads()} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && filepath.IsAbs(dir) {
			return dir
		}
	}
	return ""
}

// take uses up the ticket.
func (s *saves) take(ticket string) *dueFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := s.due
	if due == nil || subtle.ConstantTimeCompare([]byte(due.ticket), []byte(ticket)) != 1 {
		return nil
	}
	s.due = nil
	return due
}

// serve takes the bytes of a file whose place was chosen. Frames have the Origin null and know no ticket. It answers no
// content, or with a Problem.
func (s *saves) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.Header.Get("Origin") == "null" {
		http.Error(w, "refused", http.StatusForbidden)
		return
	}
	due := s.take(r.Header.Get(secretHeader))
	if due == nil {
		http.Error(w, "refused", http.StatusForbidden)
		return
	}
	if err := due.write(r.Body); err != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_ = json.NewEncoder(w).Encode(saveProblem(filepath.Base(due.path), err)) // a page that is gone needs no answer
		return
	}
	// A folder that is not remembered costs the person a few clicks the next time.
	_ = s.memory.change(func(kept *remembered) { kept.Folder = filepath.Dir(due.path) })
	w.WriteHeader(http.StatusNoContent)
}

// write writes the file, if all of it comes.
func (d *dueFile) write(body io.Reader) error {
	return replaceFile(d.path, 0o666, &exactly{body, d.size})
}

// exactly reads so many bytes, and fails if there are fewer or more.
type exactly struct {
	from io.Reader
	left int64
}

func (e *exactly) Read(p []byte) (int, error) {
	n, err := e.from.Read(p)
	e.left -= int64(n)
	if e.left < 0 || err == io.EOF && e.left > 0 {
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// fileName is a name that a file can have. The page has cleaned it already (frontend/src/gadget/saving.ts); what is left to
// see to is how long it is in bytes.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r == '/' || r == '\\' || unicode.IsControl(r) {
			return -1
		}
		return r
	}, name)
	name = strings.TrimLeft(name, ". ")
	extension := filepath.Ext(name)
	if len(extension) > maxNameBytes/2 {
		extension = ""
	}
	stem := strings.TrimSuffix(name, extension)
	for len(stem)+len(extension) > maxNameBytes {
		_, last := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-last]
	}
	if stem+extension == "" {
		return "file"
	}
	return stem + extension
}

// saveProblem says why a file was not saved.
func saveProblem(name string, err error) *api.Problem {
	p := &api.Problem{Kind: "save", What: fmt.Sprintf("“%s” was not saved", name), Why: "the system said: " + cause(err), Todo: "Save it somewhere else, or try again."}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		p.Why, p.Todo = "there is no room left on that disk", "Make room, or save it on another disk."
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		p.Why, p.Todo = "you may not write in that folder", "Save it in a folder of yours."
	case errors.Is(err, fs.ErrNotExist):
		p.Why, p.Todo = "the folder is not there any more", "Save it in another folder."
	case errors.Is(err, syscall.ENAMETOOLONG):
		p.Why, p.Todo = "the name is longer than that disk allows", "Give it a shorter name."
	case errors.Is(err, errNoFile):
		p.Why, p.Todo = "something that is not an ordinary file has that name", "Give it another name."
	case errors.Is(err, io.ErrUnexpectedEOF):
		p.Why, p.Todo = "it did not arrive whole from the gadget", "Try again."
	}
	return p
}

// cause is the innermost error's text, which names no folder.
func cause(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}

func newSecret() string {
	var b [32]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
