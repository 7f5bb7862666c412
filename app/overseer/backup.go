package overseer

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"toolshed/runtime/storage"
)

// keepBackups says which backups of a gadget's data stay.
var keepBackups = storage.Keep{Last: 3, Daily: 7, Bytes: 2 << 30}

const (
	backupEvery  = 24 * time.Hour // of a gadget that runs and has changed
	backupAtRest = time.Hour      // when a gadget that has changed ends, unless there is a backup as young as this
	backupLook   = 10 * time.Minute
)

// Backup is a copy of a gadget's data to go back to.
type Backup struct {
	Name string `json:"name"`
	Time int64  `json:"time"` // milliseconds since 1970
	Size int64  `json:"size"` // bytes
}

func (w *overseer) backupFolder(gadget string) string {
	return filepath.Join(w.dir, "backups", gadget)
}

// Backups lists the backups of a gadget's data, newest first.
func (k *Kernel) Backups(ref Ref) ([]Backup, error) {
	g, err := k.findGadget(ref)
	if err != nil {
		return nil, err
	}
	list, err := storage.Backups(g.workspace.backupFolder(g.id))
	if err != nil {
		return nil, wrapSystem("list backups", err)
	}
	out := []Backup{}
	for _, b := range list {
		out = append(out, Backup{filepath.Base(b.Path), b.Time.UnixMilli(), b.Size})
	}
	return out, nil
}

// RestoreBackup stops the gadget and puts the backup in the place of its data, alarm included. The file that was there,
// damaged or not, is set aside in the same folder and never deleted; the backup stays too. The gadget is idle afterwards.
func (k *Kernel) RestoreBackup(ref Ref, name string) error {
	g, err := k.findGadget(ref)
	if err != nil {
		return err
	}
	list, err := storage.Backups(g.workspace.backupFolder(g.id))
	if err != nil {
		return wrapSystem("restore a backup", err)
	}
	for _, b := range list {
		if filepath.Base(b.Path) == name {
			defer k.Changed()
			return g.restore(b.Path)
		}
	}
	return problem("no-backup", "There is no such backup", fmt.Sprintf("the gadget has no backup called %q", name), "Choose one of those that are listed.")
}

func (g *gadget) restore(backup string) error {
	g.mu.Lock()
	if g.held != nil || g.closed {
		g.mu.Unlock()
		return problem("busy", "The gadget's data is being put back already", "two people asked at once", "Wait until it is done.")
	}
	g.held = problem("restoring", "The gadget cannot be called now", "its data is being put back from a backup", "Try again in a moment.")
	g.mu.Unlock()
	g.halt()
	_, err := storage.Restore(g.workspace.dataFile(g.id), backup)
	if err == nil {
		var data *storage.Store
		if data, err = g.openStore(); err == nil {
			g.workspace.alarms.settle(g.id, data)
			err = data.Close()
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = nil
	if err == nil {
		g.problem, g.died = nil, nil
	}
	return err
}

func (g *gadget) openStore() (*storage.Store, error) {
	w := g.workspace
	return storage.Open(w.dataFile(g.id), &storage.Options{
		Backups: w.backupFolder(g.id),
		Alarm:   func(due int64) error { return w.alarms.note(g.id, due) },
	})
}

// openData opens the gadget's data for an instance. The function closes it, and makes a backup before if one is due; while
// it is open one is made every day.
func (g *gadget) openData() (*storage.Store, func(), error) {
	data, err := g.openStore()
	if err != nil {
		return nil, nil, err
	}
	g.workspace.alarms.settle(g.id, data)
	stop, stopped := make(chan struct{}), make(chan struct{})
	kept := int64(0) // changes that are in a backup
	keep := func(every time.Duration) {
		if changes := data.Stats().Changes; changes != kept && g.backUp(data, every) {
			kept = changes
		}
	}
	go func() {
		defer close(stopped)
		look := time.NewTicker(backupLook)
		defer look.Stop()
		for {
			select {
			case <-look.C:
				keep(backupEvery)
			case <-stop:
				return
			}
		}
	}()
	return data, func() {
		close(stop)
		<-stopped
		keep(backupAtRest)
		data.Close()
	}, nil
}

// backUp makes a backup unless the newest one is younger than that, and reports whether it made one. A backup that cannot
// be made is noted in the log: the gadget goes on without.
func (g *gadget) backUp(data *storage.Store, every time.Duration) bool {
	folder := g.workspace.backupFolder(g.id)
	list, err := storage.Backups(folder)
	if err == nil && len(list) > 0 && time.Since(list[0].Time) < every {
		return false
	}
	if err == nil && data.Err() == nil {
		if _, err = data.Backup(folder, keepBackups); err == nil {
			return true
		}
	}
	if err != nil {
		g.workspace.kernel.options.Log.Warn("backing up a gadget", "gadget", g.id, "error", err)
	}
	return false
}

// backUpNow makes a backup of a gadget's data, whether it runs or not. It is for what may spoil the data, like a change of
// the code. A gadget that has never stored anything has nothing to back up.
func (g *gadget) backUpNow() error {
	g.mu.Lock()
	var data *storage.Store
	if g.run != nil {
		data = g.run.data
	}
	g.mu.Unlock()
	if data == nil {
		opened, err := g.openStore()
		if err != nil {
			return err
		}
		defer opened.Close()
		data = opened
	}
	_, err := data.Backup(g.workspace.backupFolder(g.id), keepBackups)
	if errors.Is(err, storage.ErrClosed) { // it ended meanwhile, and what it wrote is in its file
		return nil
	}
	return err
}
