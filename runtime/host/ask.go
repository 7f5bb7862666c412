package host

import (
	"errors"

	"toolshed/runtime/host/wire"
	"toolshed/runtime/storage"
)

// answer deals with a wire.Ask on the kernel's side; false if it breaks the protocol. Turns that were sent before are
// visible, because frames are dealt with in order.
func (i *Instance) answer(u *wire.Unpacker) bool {
	var handled int
	var err error
	p := wire.Pack(0, 0)
	switch u.Uint() {
	case wire.AskGet:
		key := u.Text()
		if !u.End() {
			return false
		}
		var v []byte
		var found bool
		v, found, err = i.spec.Storage.Get(key)
		handled = len(v)
		p.Bool(found).Bytes(v)
	case wire.AskList:
		o := wire.UnpackList(u)
		if !u.End() {
			return false
		}
		o.MaxBytes = wire.MaxList
		var entries []storage.Entry
		entries, err = i.spec.Storage.List(o)
		if errors.Is(err, storage.ErrTooLarge) {
			err, handled = wire.ErrList, wire.MaxList
		}
		p.Uint(uint64(len(entries)))
		for _, e := range entries {
			p.Text(e.Key).Bytes(e.Value)
			handled += len(e.Key) + len(e.Value) + storage.EntryCost
		}
	case wire.AskAlarm:
		if !u.End() {
			return false
		}
		var at int64
		at, err = i.visibleAlarm()
		p.Uint(uint64(at))
	default:
		return false
	}
	head := wire.Pack(wire.Answer, i.id).Uint(uint64(wire.AskCost(handled)))
	if err != nil {
		head.Text(storageText(err))
	} else {
		head.Text("")
		head.B = append(head.B, p.B[wire.Head:]...)
	}
	i.child.sendThen(head.Done(), func() {
		i.mu.Lock()
		i.asking = false
		i.mu.Unlock()
	})
	return true
}

// storageText is what a gadget may know of an error of its storage: no file names.
func storageText(err error) string {
	for _, known := range []error{storage.ErrKey, storage.ErrQuota, storage.ErrFull, wire.ErrList} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "the storage cannot be read"
}
