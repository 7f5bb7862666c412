package wire

import "toolshed/runtime/storage"

// What a Ask asks.
const (
	AskGet = iota + 1
	AskList
)

func PackList(p *Packer, o storage.ListOptions) {
	p.Text(o.Start).Text(o.StartAfter).Text(o.End).Text(o.Prefix).Bool(o.Reverse).Uint(uint64(o.Limit))
}

func UnpackList(u *Unpacker) storage.ListOptions {
	return storage.ListOptions{Start: u.Text(), StartAfter: u.Text(), End: u.Text(), Prefix: u.Text(),
		Reverse: u.Bool(), Limit: int(min(u.Uint(), 1<<30))}
}
