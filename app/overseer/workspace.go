package overseer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"toolshed/app/code"
	"toolshed/app/store"
)

// overseer is the kernel of one workspace. Its folder holds workspace.db, the bare repository code.git, and gadgets/ with
// one data file for each gadget.
type overseer struct {
	kernel *Kernel
	id     string
	dir    string
	db     *store.DB
	code   *code.Repository
	alarms *alarms

	mu      sync.Mutex
	record  workspaceRecord
	gadgets map[string]*gadget
	closed  bool
}

func (k *Kernel) createWorkspace(title string) (*overseer, error) {
	id := newID()
	dir := k.workspaceDir(id)
	if err := os.MkdirAll(filepath.Join(dir, "gadgets"), 0o700); err != nil {
		return nil, wrapSystem("make a workspace", err)
	}
	// The record is what makes the folder a workspace, so it is written last: a folder without one is skipped by Open.
	if _, err := code.Open(filepath.Join(dir, "code.git")); err != nil {
		return nil, wrapSystem("make a workspace", err)
	}
	db, err := store.Open(filepath.Join(dir, "workspace.db"), schema)
	if err != nil {
		return nil, err
	}
	record := workspaceRecord{Title: title, Created: now(), Opened: now()}
	err = db.Update(func(tx *store.Tx) error { return workspaceRecords.Write(tx, this, record) })
	if err = errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	w, err := k.openWorkspace(id)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, errors.Join(problem("closed", "Toolshed is closing", "the workspace is kept", "Start it again."), w.close())
	}
	k.workspaces[id] = w
	return w, nil
}

// wrapSystem gives an error of the file system the kind that Explain has words for.
func wrapSystem(op string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), strings.Contains(err.Error(), "read-only file system"):
		return fmt.Errorf("overseer: %s: %w (%v)", op, store.ErrReadOnly, err)
	case strings.Contains(err.Error(), "no space left"), strings.Contains(err.Error(), "quota exceeded"):
		return fmt.Errorf("overseer: %s: %w (%v)", op, store.ErrFull, err)
	}
	return fmt.Errorf("overseer: %s: %w", op, err)
}

// openWorkspace opens a workspace that is on disk. The error is fs.ErrNotExist if the folder holds none.
func (k *Kernel) openWorkspace(id string) (*overseer, error) {
	dir := k.workspaceDir(id)
	path := filepath.Join(dir, "workspace.db")
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("overseer: %w", err)
	}
	db, err := store.Open(path, schema)
	if err != nil {
		return nil, err
	}
	w := &overseer{kernel: k, id: id, dir: dir, db: db, gadgets: map[string]*gadget{}}
	err = db.View(func(tx *store.Tx) error {
		var err error
		if w.record, err = workspaceRecords.Read(tx, this); errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("overseer: %s: %w", path, fs.ErrNotExist)
		} else if err != nil {
			return err
		}
		return gadgetRecords.Each(tx, func(id string, r gadgetRecord) error {
			w.gadgets[id] = newGadget(w, id, r)
			return nil
		})
	})
	if err == nil {
		w.code, err = code.Open(filepath.Join(dir, "code.git"))
	}
	if err == nil {
		err = w.openAlarms()
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return w, nil
}

func (w *overseer) find(id string) (*gadget, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g := w.gadgets[id]; g != nil {
		return g, nil
	}
	return nil, unknownGadget(id)
}

func (w *overseer) createGadget(n NewGadget, files code.Files) (string, error) {
	id := newID()
	change := code.Change{Author: w.kernel.options.Author, Message: "Make " + n.Title + "\n", Time: time.Now()}
	commit, err := w.code.Commit(id, files, change)
	if err != nil {
		return "", wrapSystem("commit", err)
	}
	record := gadgetRecord{Title: n.Title, Blueprint: n.Blueprint, Headless: !files.HasClient(), Created: now(), Commit: commit}
	if err := w.db.Update(func(tx *store.Tx) error { return gadgetRecords.Write(tx, id, record) }); err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gadgets[id] = newGadget(w, id, record)
	return id, nil
}

func (w *overseer) rename(title string) error {
	return w.update(func(r *workspaceRecord) { r.Title = title })
}

// touch notes that the workspace was used now.
func (w *overseer) touch() {
	if err := w.update(func(r *workspaceRecord) { r.Opened = now() }); err != nil {
		w.kernel.options.Log.Warn("noting the last use of a workspace", "workspace", w.id, "error", err)
	}
}

func (w *overseer) update(change func(*workspaceRecord)) error {
	var record workspaceRecord
	err := w.db.Update(func(tx *store.Tx) error {
		var err error
		if record, err = workspaceRecords.Read(tx, this); err != nil {
			return err
		}
		change(&record)
		return workspaceRecords.Write(tx, this, record)
	})
	if err == nil {
		w.mu.Lock()
		w.record = record
		w.mu.Unlock()
	}
	return err
}

func (w *overseer) renameGadget(id, title string) error {
	g, err := w.find(id)
	if err != nil {
		return err
	}
	record, err := w.updateGadget(id, func(r *gadgetRecord) { r.Title = title })
	if err == nil {
		g.setRecord(record)
	}
	return err
}

func (w *overseer) updateGadget(id string, change func(*gadgetRecord)) (record gadgetRecord, err error) {
	err = w.db.Update(func(tx *store.Tx) error {
		if record, err = gadgetRecords.Read(tx, id); err != nil {
			return err
		}
		change(&record)
		return gadgetRecords.Write(tx, id, record)
	})
	return record, err
}

func (w *overseer) deleteGadget(id string) error {
	g, err := w.find(id)
	if err != nil {
		return err
	}
	g.close()
	if err := w.db.Update(func(tx *store.Tx) error { return gadgetRecords.Delete(tx, id) }); err != nil {
		return err
	}
	w.mu.Lock()
	delete(w.gadgets, id)
	w.mu.Unlock()
	return errors.Join(w.alarms.forget(id), w.kernel.discard(w.dataFile(id), id+".db"), w.kernel.discard(w.backupFolder(id), id+".backups"), w.code.Remove(id))
}

func (w *overseer) dataFile(gadget string) string {
	return filepath.Join(w.dir, "gadgets", gadget+".db")
}

func (w *overseer) describe() Workspace {
	w.mu.Lock()
	d := Workspace{ID: w.id, Title: w.record.Title, Created: w.record.Created, Opened: w.record.Opened, Gadgets: []Gadget{}}
	gadgets := make([]*gadget, 0, len(w.gadgets))
	for _, g := range w.gadgets {
		gadgets = append(gadgets, g)
	}
	w.mu.Unlock()
	slices.SortFunc(gadgets, func(a, b *gadget) int {
		if a.created != b.created {
			return int(max(-1, min(1, a.created-b.created)))
		}
		return strings.Compare(a.id, b.id)
	})
	for _, g := range gadgets {
		d.Gadgets = append(d.Gadgets, g.describe())
	}
	return d
}

func (w *overseer) close() error {
	w.mu.Lock()
	w.closed = true
	w.alarms.stop()
	all := make([]*gadget, 0, len(w.gadgets))
	for _, g := range w.gadgets {
		all = append(all, g)
	}
	w.mu.Unlock()
	for _, g := range all {
		g.close()
	}
	w.alarms.close()
	return w.db.Close()
}
