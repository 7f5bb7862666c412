package host

import (
	"errors"

	"toolshed/runtime/host/wire"
	"toolshed/runtime/storage"
)

// maxListed bounds the size of one list.
const maxListed = 32 << 20

var errListed = errors.New("the list is too large: use a limit or a prefix")

// answer deals with a wire.Ask on the kernel's side; false if it breaks the protocol. Turns that were sent before are
// visible, because frames are dealt with in order.
func (i *Instance) answer(u *wire.Unpacker) bool {
	p := wire.Pack(wire.Answer, i.id)
	switch u.Uint() {
	case wire.AskGet:
		key := u.Text()
		if u.Err != nil {
			return false
		}
		v, found, err := i.spec.Storage.Get(key)
		if err != nil {
			p.Text(storageText(err))
			break
		}
		p.Text("").Bool(found).Bytes(v)
	case wire.AskList:
		o := wire.UnpackList(u)
		if u.Err != nil {
			return false
		}
		entries, err := i.spec.Storage.List(o)
		size := 0
		for _, e := range entries {
			size += len(e.Key) + len(e.Value)
		}
		if err == nil && size > maxListed {
			err = errListed
		}
		if err != nil {
			p.Text(storageText(err))
			break
		}
		p.Text("").Uint(uint64(len(entries)))
		for _, e := range entries {
			p.Text(e.Key).Bytes(e.Value)
		}
	default:
		return false
	}
	i.child.send(p.Done())
	return true
}

// storageText is what a gadget may know of an error of its storage: no file names.
func storageText(err error) string {
	for _, known := range []error{storage.ErrKey, storage.ErrQuota, storage.ErrFull, errListed} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "the storage cannot be read"
}
