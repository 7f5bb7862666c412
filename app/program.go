// Package app is the desktop shell: it opens the program's parts in order and closes them again, listens for the command
// line, and (with the build tag desktop) shows the window.
package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os/exec"
	"path/filepath"
	"time"

	"toolshed/app/api"
	"toolshed/app/overseer"
	"toolshed/app/profile"
)

// Settings say where the program's data lives and how it starts children.
type Settings struct {
	Data  string                    // the data folder
	Build string                    // this build's id; a child of another build is refused
	Child func() (*exec.Cmd, error) // builds the command of the gadget-host role
	Log   *slog.Logger
}

// Program is an open data folder with everything that runs on it. There is one for a folder at a time.
type Program struct {
	Profile *profile.Profile
	Kernel  *overseer.Kernel
	API     *api.API

	log    *slog.Logger
	socket *socket
}

// Open takes the data folder, opens every workspace, and listens for the command line. An error is profile.ErrInUse if
// another Toolshed has the folder, profile.ErrFolder if it cannot be used.
func Open(ctx context.Context, s Settings) (*Program, error) {
	if s.Log == nil {
		s.Log = slog.Default()
	}
	me, err := profile.Open(s.Data)
	if err != nil {
		return nil, err
	}
	person, err := me.Person()
	if err != nil {
		return nil, errors.Join(err, me.Close())
	}
	kernel, err := overseer.Open(ctx, overseer.Options{
		Folder: filepath.Join(s.Data, "workspaces"),
		Child:  s.Child,
		Build:  s.Build,
		Cache:  filepath.Join(s.Data, "cache", "engine"),
		Author: person.Name,
		Log:    s.Log,
	})
	if err != nil {
		if path := (*fs.PathError)(nil); errors.As(err, &path) {
			err = fmt.Errorf("app: %w: %w", profile.ErrFolder, err)
		}
		return nil, errors.Join(err, me.Close())
	}
	p := &Program{Profile: me, Kernel: kernel, API: api.New(kernel, me, s.Build, s.Log), log: s.Log}
	if err := kernel.EmptyTrash(time.Now()); err != nil {
		s.Log.Warn("emptying the trash", "error", err)
	}
	if p.socket, err = listen(ctx, s.Data, p.API, s.Log); err != nil {
		// The program works without it; only the command line has to wait for the program to end.
		s.Log.Warn("the command line cannot attach to this Toolshed", "error", err)
	}
	return p, nil
}

// Close gives clients of the command line closeGrace to get their answers (none, if Open's ctx has ended), ends gadgets
// after their last turn is on disk, and lets go of the data folder.
func (p *Program) Close() error {
	if p.socket != nil {
		p.socket.close()
	}
	return errors.Join(p.Kernel.Close(), p.Profile.Close())
}
