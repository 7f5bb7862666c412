package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"toolshed/app"
	"toolshed/app/api"
	"toolshed/app/overseer"
	"toolshed/app/profile"
	"toolshed/app/serve"
)

// errReported is the failure of a command that has printed all there is to say of it.
var errReported = errors.New("the command failed")

// explain is overseer.Explain with words for what the kernel does not know: the data folder, the port, the connection to a
// running Toolshed.
func explain(err error) *overseer.Problem {
	switch {
	case errors.Is(err, profile.ErrFolder):
		return &overseer.Problem{Kind: "folder", What: "The data folder cannot be used", Why: withoutOperation(err), Todo: "See that it is a folder of yours that can be written, or choose another one with --data or TOOLSHED_DATA."}
	case errors.Is(err, app.ErrNotPrivate):
		return &overseer.Problem{Kind: "not-private", What: "The running Toolshed cannot be reached from here", Why: withoutOperation(err), Todo: "Close Toolshed, remove that folder, and start it again."}
	case errors.Is(err, serve.ErrPort):
		return &overseer.Problem{Kind: "port", What: "Toolshed cannot be served on that port", Why: withoutOperation(err), Todo: "Choose another one with --port, or leave it out and take any that is free."}
	case errors.Is(err, api.ErrLost):
		return &overseer.Problem{Kind: "lost", What: "There was no answer", Why: api.ErrLost.Error(), Todo: "It may have done what you asked: look before you ask again.", Detail: err.Error()}
	case errors.Is(err, context.Canceled):
		return &overseer.Problem{Kind: "closed", What: "It was interrupted", Why: "you or the system stopped the command", Todo: "It may have done what you asked: look before you ask again."}
	}
	return overseer.Explain(err)
}

// withoutOperation is the error's text without the name of the package that failed.
func withoutOperation(err error) string {
	text := err.Error()
	for _, operation := range []string{"app: ", "profile: ", "serve: "} {
		text = strings.TrimPrefix(text, operation)
	}
	return text
}

func (call *invocation) silent() *overseer.Problem {
	return &overseer.Problem{Kind: "silent", What: "The running Toolshed does not answer", Why: fmt.Sprintf("it has %s open and said nothing for %v", call.data, call.patience), Todo: "Wait a moment and try again. If that does not help, end it and start it again; what is stored is safe."}
}

// page is the built page. The error is a Problem if this program was built without it.
func (call *invocation) page() (fs.FS, error) {
	files, err := call.Page()
	if err != nil {
		return nil, &overseer.Problem{Kind: "no-page", What: "This build of Toolshed has no page", Why: err.Error(), Todo: "Build it with `make build`, or install Toolshed again."}
	}
	return files, nil
}
