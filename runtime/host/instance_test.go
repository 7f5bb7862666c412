package host

import (
	"io"
	"math/rand/v2"
	"testing"

	"toolshed/runtime/host/wire"
	"toolshed/runtime/storage"
)

// Whatever a child sends, the kernel neither panics nor blocks.
func TestAnyFrames(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	c := &Child{out: wire.NewOutbox(io.Discard), instances: map[uint32]*Instance{}}
	defer c.out.Close()
	ended := 0
	for range 3000 {
		s := spec("")
		store := storage.OpenMemory()
		s.Storage = store
		s.Console = func(Line) {}
		i := c.newInstance(s)
		go i.run()
		for range 1 + rnd.IntN(4) {
			body := make([]byte, rnd.IntN(24))
			for k := range body {
				body[k] = byte(rnd.IntN(6)) // small numbers make more frames that are nearly right
				if rnd.IntN(8) == 0 {
					body[k] = byte(rnd.Uint32())
				}
			}
			i.take(wire.Frame{Kind: byte(wire.Welcome + rnd.IntN(9)), Inst: 1, Body: body})
		}
		if i.Err() != nil {
			ended++
		}
		i.Close()
		store.Close()
	}
	if ended == 0 {
		t.Fatal("every frame was taken")
	}
}

// A child that does not wait to be told that it may go on is cut off before it fills the kernel's memory.
func TestFloodOfTurns(t *testing.T) {
	c := &Child{out: wire.NewOutbox(io.Discard), instances: map[uint32]*Instance{}}
	defer c.out.Close()
	for name, body := range map[string][]byte{
		"messages": wire.Pack(0, 0).Uint(0).Bool(false).Uint(0).Uint(0).Uint(1).Bytes(make([]byte, 1000)).Done()[wire.Head:],
		"small":    wire.Pack(0, 0).Uint(0).Bool(false).Uint(0).Uint(0).Uint(1).Bytes(nil).Done()[wire.Head:],
	} {
		i := c.newInstance(spec(""))
		go i.run()
		n := 0
		for ; i.Err() == nil && n < 10_000_000; n++ {
			i.take(wire.Frame{Kind: wire.Turn, Inst: 1, Body: body})
		}
		if kind(i.Err()) != KindProtocol {
			t.Errorf("%s: %v after %d", name, i.Err(), n)
		}
		i.Close()
	}
}
