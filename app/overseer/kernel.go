// Package overseer is the kernel: it keeps workspaces and their gadgets, runs gadgets in sandboxed children, and hands out
// the capabilities through which everything else reaches them.
//
// A Kernel holds all workspaces of one data folder; an overseer is the kernel of one of them: its file, its git
// repository, its child process, its gadgets. A gadget runs when it is called. Its capability (Connect) outlives the
// instance behind it: calls made while an instance starts wait for it in order, and the next call after an instance has
// died starts another one from storage, which is always whole. So an instance that has nothing to do is ended after a while
// (evictor), and nobody notices.
//
// No lock is held across a call to a guest, a child or a peer.
package overseer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"toolshed/app/code"
	"toolshed/runtime/host"
)

// Options say where a kernel lives and how it starts children.
type Options struct {
	// Folder holds one folder for each workspace; it is made if missing.
	Folder string
	// Child builds the command of the gadget-host role.
	Child func() (*exec.Cmd, error)
	// Build is this program's build, which a child must share.
	Build string
	// Cache keeps the compiled engine between starts; empty compiles it for each child.
	Cache string
	// ChildIdle is how long a child is kept after its last gadget has ended; zero means a minute.
	ChildIdle time.Duration
	// NoSpare starts a child only when a gadget needs it; else one is kept ready.
	NoSpare bool
	// Author is named in commits.
	Author string
	// GadgetIdle is how long a gadget that has nothing to do goes on running; zero means a minute, a negative time for ever.
	GadgetIdle time.Duration
	// MaxGadgets is how many gadgets run in one child, and MaxMemory how many bytes it has, before the ones that were not used
	// for longest are ended without waiting for GadgetIdle; zero means 256, and 1 GiB. What has something to do goes on.
	MaxGadgets int
	MaxMemory  int64
	// Limits of every gadget; zero fields mean the defaults of GADGETS: 64 MiB, 30 s.
	Limits host.Limits
	// Quota is how many bytes of keys and values each gadget may store; zero means a GiB.
	Quota int64
	Log   *slog.Logger

	now        func() time.Time // what the daily backups go by
	backupLook time.Duration    // how often it is looked whether one is due
}

// Kernel is every workspace of one data folder. Its methods may be called from any goroutine.
type Kernel struct {
	options Options
	ctx     context.Context
	cancel  context.CancelFunc

	children   *host.Pool
	alarmSlots chan struct{} // holds a token for each gadget that is being woken
	evictor    *evictor
	work       sync.WaitGroup // what goes on until the end

	mu         sync.Mutex
	workspaces map[string]*overseer
	broken     map[string]*Problem // workspaces that could not be opened
	watchers   map[chan struct{}]bool
	closed     bool
}

// Open opens every workspace below the folder. One that cannot be opened is listed with its problem and left as it is.
func Open(ctx context.Context, o Options) (*Kernel, error) {
	if o.Limits.Soft == 0 {
		o.Limits.Soft = 30 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.backupLook == 0 {
		o.backupLook = backupLook
	}
	if err := os.MkdirAll(o.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("overseer: %w", err)
	}
	entries, err := os.ReadDir(o.Folder)
	if err != nil {
		return nil, fmt.Errorf("overseer: %w", err)
	}
	k := &Kernel{options: o, alarmSlots: make(chan struct{}, alarmStarts), workspaces: map[string]*overseer{}, broken: map[string]*Problem{}, watchers: map[chan struct{}]bool{}}
	k.ctx, k.cancel = context.WithCancel(ctx)
	k.children = host.NewPool(host.PoolOptions{
		Config: host.Config{Command: o.Child, Build: o.Build, CacheDir: o.Cache, Log: o.Log},
		Idle:   o.ChildIdle, NoSpare: o.NoSpare,
	})
	k.evictor = newEvictor(k)
	for _, e := range entries {
		if !e.IsDir() || !validID(e.Name()) {
			continue
		}
		w, err := k.openWorkspace(e.Name())
		switch {
		case errors.Is(err, fs.ErrNotExist): // made in part, before the program was ended: nothing is in it
			continue
		case err != nil:
			o.Log.Error("a workspace cannot be opened", "workspace", e.Name(), "error", err)
			k.broken[e.Name()] = Explain(err)
			continue
		}
		k.workspaces[e.Name()] = w
	}
	k.children.Warm()
	k.work.Go(k.evictor.loop)
	k.work.Go(k.lookAtBackups)
	return k, nil
}

// Close stops every gadget after its running turn's writes are on disk, ends the children and closes the files.
func (k *Kernel) Close() error {
	k.mu.Lock()
	k.closed = true
	all := k.listLocked()
	k.workspaces = map[string]*overseer{}
	k.mu.Unlock()
	k.cancel()
	k.work.Wait()
	var err error
	for _, w := range all {
		err = errors.Join(err, w.close())
	}
	k.children.Close()
	return err
}

func (k *Kernel) listLocked() []*overseer {
	all := make([]*overseer, 0, len(k.workspaces))
	for _, w := range k.workspaces {
		all = append(all, w)
	}
	return all
}

func (k *Kernel) find(workspace string) (*overseer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w := k.workspaces[workspace]; w != nil {
		return w, nil
	}
	if p := k.broken[workspace]; p != nil {
		return nil, p
	}
	return nil, unknownWorkspace(workspace)
}

func (k *Kernel) findGadget(ref Ref) (*gadget, error) {
	w, err := k.find(ref.Workspace)
	if err != nil {
		return nil, err
	}
	return w.find(ref.Gadget)
}

// Ref names a gadget.
type Ref struct {
	Workspace string `json:"workspace"`
	Gadget    string `json:"gadget"`
}

// NewGadget says what to make.
type NewGadget struct {
	Blueprint string
	Title     string // empty: the blueprint's
	Workspace string // empty: a new one, with the gadget's title
}

// CreateGadget makes a gadget from a blueprint. When it returns, the gadget is on disk.
func (k *Kernel) CreateGadget(n NewGadget) (Ref, error) {
	b, err := code.FindBlueprint(n.Blueprint)
	if err != nil {
		return Ref{}, err
	}
	if n.Title == "" {
		n.Title = b.Title
	}
	if n.Title, err = cleanTitle(n.Title); err != nil {
		return Ref{}, err
	}
	return k.create(n, b.Files)
}

func (k *Kernel) create(n NewGadget, files code.Files) (Ref, error) {
	var w *overseer
	var err error
	if n.Workspace == "" {
		w, err = k.createWorkspace(n.Title)
	} else {
		w, err = k.find(n.Workspace)
	}
	if err != nil {
		return Ref{}, err
	}
	id, err := w.createGadget(n, files)
	if err != nil {
		return Ref{}, err
	}
	k.Changed()
	return Ref{w.id, id}, nil
}

// RenameWorkspace gives a workspace another title.
func (k *Kernel) RenameWorkspace(workspace, title string) error {
	title, err := cleanTitle(title)
	if err != nil {
		return err
	}
	w, err := k.find(workspace)
	if err == nil {
		err = w.rename(title)
	}
	if err == nil {
		k.Changed()
	}
	return err
}

// DeleteWorkspace stops the workspace's gadgets and moves its folder to the trash folder beside it, where it is kept for
// TrashDays days.
func (k *Kernel) DeleteWorkspace(workspace string) error {
	w, err := k.find(workspace)
	if err != nil {
		return err
	}
	k.mu.Lock()
	delete(k.workspaces, workspace)
	k.mu.Unlock()
	defer k.Changed()
	if err := w.close(); err != nil {
		k.options.Log.Error("closing a workspace that is deleted", "workspace", workspace, "error", err)
	}
	return k.discard(w.dir, workspace)
}

// RenameGadget gives a gadget another title. A running gadget is not restarted.
func (k *Kernel) RenameGadget(ref Ref, title string) error {
	title, err := cleanTitle(title)
	if err != nil {
		return err
	}
	w, err := k.find(ref.Workspace)
	if err == nil {
		err = w.renameGadget(ref.Gadget, title)
	}
	if err == nil {
		k.Changed()
	}
	return err
}

// DeleteGadget stops the gadget and moves its data to the trash folder, where it is kept for TrashDays days. Its commits
// stay in the workspace's repository until git collects them.
func (k *Kernel) DeleteGadget(ref Ref) error {
	w, err := k.find(ref.Workspace)
	if err == nil {
		err = w.deleteGadget(ref.Gadget)
	}
	if err == nil {
		k.Changed()
	}
	return err
}

// Resolve finds the gadget that a person means: its id, or its title if no other gadget has it.
func (k *Kernel) Resolve(name string) (Ref, error) {
	var found []Ref
	var broken *Problem
	for _, w := range k.Workspaces() {
		if w.Problem != nil {
			broken = w.Problem
		}
		for _, g := range w.Gadgets {
			if g.ID == name {
				return Ref{w.ID, g.ID}, nil
			}
			if strings.EqualFold(g.Title, name) {
				found = append(found, Ref{w.ID, g.ID})
			}
		}
	}
	switch len(found) {
	case 0:
		if broken != nil {
			p := unknownGadget(name)
			p.Todo = "A workspace could not be opened, and it may be in there: " + broken.Why + ". " + broken.Todo
			return Ref{}, p
		}
		return Ref{}, unknownGadget(name)
	case 1:
		return found[0], nil
	}
	return Ref{}, problem("ambiguous", "More than one gadget is called that", fmt.Sprintf("%d gadgets have the title %q", len(found), name), "Use the gadget's id; `toolshed list` shows it.")
}

// Workspace is a workspace as it is now.
type Workspace struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Created int64    `json:"created"` // milliseconds since 1970
	Opened  int64    `json:"opened"`
	Gadgets []Gadget `json:"gadgets"`
	Problem *Problem `json:"problem,omitempty"` // why it could not be opened
}

// Workspaces lists them, the last used first.
func (k *Kernel) Workspaces() []Workspace {
	k.mu.Lock()
	all := k.listLocked()
	list := []Workspace{}
	for id, p := range k.broken {
		list = append(list, Workspace{ID: id, Title: "Workspace " + id[:4], Gadgets: []Gadget{}, Problem: p})
	}
	k.mu.Unlock()
	for _, w := range all {
		list = append(list, w.describe())
	}
	slices.SortFunc(list, func(a, b Workspace) int {
		if a.Opened != b.Opened {
			return int(max(-1, min(1, b.Opened-a.Opened)))
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list
}

// Watch returns a channel that gets a value after anything that Workspaces shows has changed, several changes at once
// being one, and the function that ends it.
func (k *Kernel) Watch() (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watchers[ch] = true
	return ch, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.watchers, ch)
	}
}

// Changed tells every watcher that something it shows may have changed.
func (k *Kernel) Changed() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for ch := range k.watchers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

func now() int64 { return time.Now().UnixMilli() }

func (k *Kernel) workspaceDir(id string) string { return filepath.Join(k.options.Folder, id) }
