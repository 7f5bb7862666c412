package overseer

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"toolshed/runtime/storage"
)

// keepBackups says which backups of a gadget's data stay.
var keepBackups = storage.Keep{Last: 3, Daily: 7, Bytes: 2 << 30}

// A backup is made of what has changed since the newest one, if that is older than this; and before other code runs on the
// data, however old the newest is.
const (
	backupEvery  = 24 * time.Hour
	backupAtRest = time.Hour // when the gadget ends
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
		Quota:   w.kernel.options.Quota,
		Backups: w.backupFolder(g.id),
		Alarm:   func(due int64) error { return w.alarms.note(g.id, due) },
	})
}

// openData opens the gadget's data for an instance. The function closes it, and makes a backup before if one is due.
func (g *gadget) openData() (*storage.Store, func(), error) {
	data, err := g.openStore()
	if err != nil {
		return nil, nil, err
	}
	g.workspace.alarms.settle(g.id, data)
	return data, func() {
		g.backUp(data, backupAtRest, time.Now())
		data.Close()
	}, nil
}

// backUp makes a backup unless the newest one is younger than that or holds the same. One that cannot be made is noted in the
// log: the gadget goes on without.
func (g *gadget) backUp(data *storage.Store, every time.Duration, now time.Time) {
	due, first := g.backupDue(every, now)
	if !due || first && data.Stats().Bytes == 0 && data.Err() == nil && alarmless(data) {
		return // it has never stored anything
	}
	err := data.Err()
	if err == nil {
		_, err = data.Backup(g.workspace.backupFolder(g.id), keepBackups)
	}
	if err != nil && !errors.Is(err, storage.ErrClosed) { // where it ended meanwhile, its end saw to the backup
		g.workspace.kernel.options.Log.Warn("backing up a gadget", "gadget", g.id, "error", err)
	}
}

func alarmless(data *storage.Store) bool {
	due, err := data.EarliestAlarm()
	return err == nil && due == 0
}

// backupDue tells whether the gadget's file may have what its newest backup, which is older than that, has not; first if there
// is no backup.
func (g *gadget) backupDue(every time.Duration, now time.Time) (due, first bool) {
	if _, err := os.Stat(g.workspace.dataFile(g.id)); err != nil {
		return false, false
	}
	list, err := storage.Backups(g.workspace.backupFolder(g.id))
	if err != nil || len(list) == 0 {
		return true, err == nil
	}
	if now.Sub(list[0].Time) < every {
		return false, false
	}
	same, err := storage.Unchanged(g.workspace.dataFile(g.id), list[0])
	return err != nil || !same, false
}

// backUpDaily makes the backups that are due, of gadgets that run and of those that do not.
func (k *Kernel) backUpDaily(now time.Time) {
	k.mu.Lock()
	workspaces := k.listLocked()
	k.mu.Unlock()
	for _, w := range workspaces {
		w.mu.Lock()
		gadgets := slices.Collect(maps.Values(w.gadgets))
		w.mu.Unlock()
		for _, g := range gadgets {
			if k.ctx.Err() != nil {
				return
			}
			if due, _ := g.backupDue(backupEvery, now); due {
				g.backUpAnyway(now)
			}
		}
	}
}

// backUpAnyway makes a backup that is due, whether the gadget runs or not. A call that would start it waits.
func (g *gadget) backUpAnyway(now time.Time) {
	g.mu.Lock()
	if g.closed || g.held != nil || g.holder != nil || g.run != nil {
		var data *storage.Store
		if g.run != nil {
			data = g.run.data
		}
		g.mu.Unlock()
		if data != nil {
			g.backUp(data, backupEvery, now)
		}
		return // it starts or ends just now: the next look is soon enough
	}
	holder := &run{stop: func() {}, ended: make(chan struct{})}
	g.holder = holder
	g.mu.Unlock()
	if data, err := g.openStore(); err == nil {
		g.backUp(data, backupEvery, now)
		data.Close()
	} else {
		g.workspace.kernel.options.Log.Warn("backing up a gadget", "gadget", g.id, "error", err)
	}
	g.mu.Lock()
	g.holder = nil
	g.mu.Unlock()
	close(holder.ended)
}

// lookAtBackups makes the daily backups until the kernel is closed.
func (k *Kernel) lookAtBackups() {
	look := time.NewTicker(k.options.backupLook)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			k.backUpDaily(k.options.now())
		case <-k.ctx.Done():
			return
		}
	}
}

// beforeCode makes a backup before code runs that is not the code that ran last.
func (g *gadget) beforeCode(commit string, data *storage.Store) {
	if !g.ranLast(commit) {
		g.backUp(data, 0, time.Now())
	}
}

func (g *gadget) ranLast(commit string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.record.Commit == commit
}

// noteCode notes which code runs. Where that comes to nothing, the next start makes a backup more than it need.
func (g *gadget) noteCode(commit string) {
	if g.ranLast(commit) {
		return
	}
	record, err := g.workspace.updateGadget(g.id, func(r *gadgetRecord) { r.Commit = commit })
	if err != nil {
		g.workspace.kernel.options.Log.Warn("noting which code runs", "gadget", g.id, "error", err)
		return
	}
	g.setRecord(record)
}
