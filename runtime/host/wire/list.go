package wire

import (
	"errors"
	"time"

	"toolshed/runtime/storage"
)

// What a Ask asks.
const (
	AskGet = iota + 1
	AskList
	AskAlarm
)

// MaxList is the largest list that a guest is given, counted as storage.ListOptions say.
const MaxList = 8 << 20

// ErrList tells a gadget what to do about a larger one.
var ErrList = errors.New("the list is larger than 8 MiB: read it in parts, with limit, prefix or start")

// AskCost is the run time that an ask counts as: a floor, and so much for each byte that the kernel handled. It does
// not depend on how busy the machine is.
func AskCost(bytes int) time.Duration { return 50*time.Microsecond + time.Duration(2*bytes) }

// PackList adds the options of an AskList.
func PackList(p *Packer, o storage.ListOptions) {
	p.Text(o.Start).Text(o.StartAfter).Text(o.End).Text(o.Prefix).Bool(o.Reverse).Uint(uint64(o.Limit))
}

// UnpackList reads the options of an AskList.
func UnpackList(u *Unpacker) storage.ListOptions {
	return storage.ListOptions{Start: u.Text(), StartAfter: u.Text(), End: u.Text(), Prefix: u.Text(),
		Reverse: u.Bool(), Limit: int(min(u.Uint(), 1<<30))}
}
