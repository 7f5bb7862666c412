package overseer

import (
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"toolshed/app/store"
)

// workspaceRecord is the one record about a workspace itself.
type workspaceRecord struct {
	Title   string `json:"title"`
	Created int64  `json:"created"` // milliseconds since 1970
	Opened  int64  `json:"opened"`
}

// gadgetRecord is what a workspace knows of a gadget. Its existence is what makes the gadget exist: the code is committed
// before it is written, and the data file moves away after it is gone.
type gadgetRecord struct {
	Title     string `json:"title"`
	Blueprint string `json:"blueprint"`
	Headless  bool   `json:"headless,omitempty"` // the code has no user interface
	Created   int64  `json:"created"`
	Commit    string `json:"commit,omitempty"` // the code that ran last, or will run first
}

const this = "this" // the id of the only workspaceRecord of a file

var (
	workspaceRecords = store.NewCollection[workspaceRecord]("workspace")
	gadgetRecords    = store.NewCollection[gadgetRecord]("gadgets")
)

var schema = store.Schema{
	Collections: []string{workspaceRecords.Name(), gadgetRecords.Name(), alarmRecords.Name()},
	Migrations: []store.Migration{
		func(tx *store.Tx) error { return nil }, // version 1: the first layout
	},
}

// newID returns 80 random bits in 16 lower-case characters: fit for a file name, a branch name and an address.
func newID() string {
	var b [10]byte
	rand.Read(b[:])
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

func validID(id string) bool {
	if len(id) != 16 {
		return false
	}
	for _, c := range id {
		if !(c >= 'a' && c <= 'z' || c >= '2' && c <= '7') {
			return false
		}
	}
	return true
}

const maxTitle = 120 // characters in a title

// cleanTitle returns the title with its space trimmed, or a problem if a person could not read it as a title.
func cleanTitle(title string) (string, error) {
	title = strings.TrimSpace(title)
	why := ""
	switch {
	case title == "":
		why = "it is empty"
	case !utf8.ValidString(title):
		why = "it is not text"
	case utf8.RuneCountInString(title) > maxTitle:
		why = fmt.Sprintf("it has more than %d characters", maxTitle)
	case strings.ContainsFunc(title, unicode.IsControl):
		why = "it has a character that cannot be shown"
	}
	if why != "" {
		return "", problem("title", "That title can't be used", why, "Choose another one.")
	}
	return title, nil
}
