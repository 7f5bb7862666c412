package app

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
	"unicode"

	"toolshed/app/api"
)

const (
	maxAddress   = 8_192           // characters
	openerWithin = 3 * time.Second // a program that opens an address and failed has said so by then
)

// errAddress means that an address is none that the program opens.
var errAddress = errors.New("only addresses of web pages and of mail are opened")

// checkAddress lets only http, https and mailto pass, in the form in which the page shows it: text that no shell and no
// program that opens addresses takes for anything else.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	if err != nil || len(address) > maxAddress || strings.ContainsFunc(address, func(r rune) bool {
		return r > unicode.MaxASCII || unicode.IsControl(r) || strings.ContainsRune(" \"<>`\\^{|}", r)
	}) {
		return errAddress
	}
	switch u.Scheme {
	case "http", "https":
		if u.Host == "" {
			return errAddress
		}
	case "mailto":
	default:
		return errAddress
	}
	return nil
}

// openAddress hands an address to the system's program for it, and answers with what went wrong, or nil.
func openAddress(address string) *api.Problem {
	if err := checkAddress(address); err != nil {
		return &api.Problem{Kind: "address", What: "The address was not opened", Why: err.Error(), Todo: "Copy it, and decide where to open it."}
	}
	if err := runOpener(address); err != nil {
		return &api.Problem{Kind: "address", What: "The address was not opened", Why: fmt.Sprintf("the system's program for it failed (%v)", err), Todo: "Copy it into your browser."}
	}
	return nil
}

// runOpener runs the program that opens addresses. One that goes on, because it is the browser itself, has not failed.
func runOpener(address string) error {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	cmd := exec.Command(name, args...)
	cmd.Env = withoutOurs(os.Environ())
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(openerWithin):
		return nil
	}
}

// withoutOurs takes away what this program sets for its own web engine only.
func withoutOurs(environment []string) []string {
	var kept []string
	for _, entry := range environment {
		if !strings.HasPrefix(entry, "WEBKIT_DISABLE_DMABUF_RENDERER=") && !strings.HasPrefix(entry, "GDK_BACKEND=") {
			kept = append(kept, entry)
		}
	}
	return kept
}
