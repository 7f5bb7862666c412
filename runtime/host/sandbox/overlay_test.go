package sandbox

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"toolshed/runtime/storage"
)

// A turn sees the store as it will be after it: listing through an overlay is listing after the writes.
func TestOverlayIsTheStoreAfterTheTurn(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	key := func() string { return fmt.Sprintf("%c%d", 'a'+rnd.IntN(3), rnd.IntN(12)) }
	for range 3000 {
		before, after := storage.OpenMemory(), storage.OpenMemory()
		var first storage.Turn
		for range rnd.IntN(12) {
			first.Writes = append(first.Writes, storage.Write{Key: key(), Value: []byte{1}})
		}
		before.Apply(first, nil)
		after.Apply(first, nil)
		o := &overlay{}
		if rnd.IntN(5) == 0 {
			o.clear()
			after.Apply(storage.Turn{Clear: true}, nil)
		}
		for range rnd.IntN(8) {
			w := storage.Write{Key: key(), Delete: rnd.IntN(3) == 0}
			if !w.Delete {
				w.Value = []byte{2, byte(rnd.IntN(9))}
			}
			o.set(w)
			after.Apply(storage.Turn{Writes: []storage.Write{w}}, nil)
		}
		l := storage.ListOptions{Reverse: rnd.IntN(2) == 0, Limit: rnd.IntN(6)}
		for _, bound := range []*string{&l.Start, &l.StartAfter, &l.End} {
			if rnd.IntN(3) == 0 {
				*bound = key()
			}
		}
		if rnd.IntN(3) == 0 {
			l.Prefix = "b"
		}
		var below []storage.Entry
		if !o.cleared {
			below, _ = before.List(o.widen(l))
		}
		got := o.merge(l, below)
		want, err := after.List(l)
		if err != nil {
			t.Fatal(err)
		}
		if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v\ngot  %v\nwant %v", l, got, want)
		}
		before.Close()
		after.Close()
	}
}
