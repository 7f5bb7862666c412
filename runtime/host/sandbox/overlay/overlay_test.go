package overlay

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"toolshed/runtime/host/wire"
	"toolshed/runtime/storage"
)

// model is a stack of stores: what is seen before each transaction that is open, and now.
type model []*storage.Store

func (m model) top() *storage.Store { return m[len(m)-1] }

// copied makes a store with the same contents.
func copied(t *testing.T, s *storage.Store) *storage.Store {
	c := storage.OpenMemory()
	t.Cleanup(func() { c.Close() })
	list, err := s.List(storage.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		c.Apply(storage.Turn{Writes: []storage.Write{{Key: e.Key, Value: e.Value}}}, nil)
	}
	a, _ := s.Alarm()
	c.Apply(storage.Turn{Alarm: &a}, nil)
	return c
}

// TestTurnIsTheStoreAfterIt: random programs of writes and transactions, run on a turn over a store and on stores that
// are copied where a transaction begins. Reading through the turn is reading the store as it would be.
func TestTurnIsTheStoreAfterIt(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for n := range 1500 {
		t.Run(fmt.Sprint(n), func(t *testing.T) { testProgram(t, rnd) })
	}
}

func testProgram(t *testing.T, rnd *rand.Rand) {
	key := func() string { return fmt.Sprintf("%c%d", 'a'+rnd.IntN(3), rnd.IntN(12)) }
	before := storage.OpenMemory()
	defer before.Close()
	for range rnd.IntN(12) {
		before.Apply(storage.Turn{Writes: []storage.Write{{Key: key(), Value: []byte{1}}}}, nil)
	}
	m := model{copied(t, before)}
	o := &Turn{}
	for range rnd.IntN(20) {
		switch rnd.IntN(9) {
		case 0:
			o.Clear()
			m.top().Apply(storage.Turn{Clear: true}, nil)
		case 1:
			if n, err := o.Begin(rnd.IntN(2) == 0); err != nil || n != len(m) {
				t.Fatal(n, err)
			}
			m = append(m, copied(t, m.top()))
		case 2, 3:
			n := 1 + rnd.IntN(len(m))
			end, name := o.Commit, "commit"
			if rnd.IntN(2) == 0 {
				end, name = o.Rollback, "rollback"
			}
			if err := end(n); (err == nil) != (n < len(m)) {
				t.Fatal(name, n, err)
			} else if err != nil {
				continue
			}
			if name == "commit" {
				m[n-1] = m.top()
			}
			m = m[:n]
		case 4:
			at := int64(rnd.IntN(3))
			o.SetAlarm(at)
			m.top().Apply(storage.Turn{Alarm: &storage.Alarm{Time: at}}, nil)
		default:
			w := storage.Write{Key: key(), Delete: rnd.IntN(3) == 0}
			if !w.Delete {
				w.Value = []byte{2, byte(rnd.IntN(9))}
			}
			o.Set(w)
			m.top().Apply(storage.Turn{Writes: []storage.Write{w}}, nil)
		}
		compare(t, o, before, m.top(), key(), drawList(rnd, key))
	}
	_ = o.Rollback(1)
	before.Apply(taken(t, o), nil)
	compare(t, &Turn{}, before, m[0], key(), storage.ListOptions{})
}

func drawList(rnd *rand.Rand, key func() string) storage.ListOptions {
	l := storage.ListOptions{Reverse: rnd.IntN(2) == 0, Limit: rnd.IntN(6)}
	for _, bound := range []*string{&l.Start, &l.StartAfter, &l.End} {
		if rnd.IntN(3) == 0 {
			*bound = key()
		}
	}
	if rnd.IntN(3) == 0 {
		l.Prefix = "b"
	}
	return l
}

// compare reads a key, the alarm and a list through the turn and from the store as it should be.
func compare(t *testing.T, o *Turn, before, want *storage.Store, key string, l storage.ListOptions) {
	t.Helper()
	value, found, known := o.Find(key)
	if !known {
		value, found, _ = before.Get(key)
	}
	if v, ok, _ := want.Get(key); ok != found || string(v) != string(value) {
		t.Fatalf("%q is %v %v, want %v %v", key, value, found, v, ok)
	}
	at, known := o.Alarm()
	if !known {
		a, _ := before.Alarm()
		at = a.Time
	}
	if a, _ := want.Alarm(); a.Time != at {
		t.Fatalf("the alarm is %d, want %d", at, a.Time)
	}
	var below []storage.Entry
	if !o.Hidden() {
		below, _ = before.List(o.Widen(l))
	}
	got := o.Merge(l, below)
	list, err := want.List(l)
	if err != nil {
		t.Fatal(err)
	}
	if len(got)+len(list) > 0 && !reflect.DeepEqual(got, list) {
		t.Fatalf("%+v\ngot  %v\nwant %v", l, got, list)
	}
}

// taken reads the frame that the turn packs.
func taken(t *testing.T, o *Turn) (out storage.Turn) {
	p := &wire.Packer{}
	o.Pack(p)
	u := &wire.Unpacker{B: p.B}
	out.Clear = u.Bool()
	if at := wire.UnpackAlarm(u); at != nil {
		out.Alarm = &storage.Alarm{Time: *at}
	}
	for n := u.Count(); n > 0; n-- {
		w := storage.Write{Key: u.Text(), Delete: u.Bool()}
		w.Value = u.Bytes()
		out.Writes = append(out.Writes, w)
	}
	if !u.End() || !o.Empty() {
		t.Fatal("the frame is malformed, or the turn is not empty after it", u.Err)
	}
	return out
}

// Each write counts with what it costs to keep, so that many small ones are bounded too, in all layers together.
func TestWritesCountTheirCost(t *testing.T) {
	o := &Turn{}
	expect := func(want int) {
		t.Helper()
		if got := o.Size(); got != want {
			t.Fatalf("the size is %d, want %d", got, want)
		}
	}
	for _, key := range []string{"a", "b", "a"} {
		o.Set(storage.Write{Key: key, Value: []byte("xyz")})
	}
	expect(2 * (wire.WriteCost + 4))
	o.Set(storage.Write{Key: "a", Delete: true})
	expect(2*(wire.WriteCost+4) - 3)
	o.Begin(false)
	w := storage.Write{Key: "a", Value: []byte("12345")}
	if size, full := o.Next(w); size != 3*(wire.WriteCost+4)-3+2 || full {
		t.Fatal(size, full)
	}
	o.Set(w)
	expect(3*(wire.WriteCost+4) - 3 + 2)
	o.Commit(1)
	expect(2*(wire.WriteCost+4) + 2)
	for n := 2; n < wire.MaxWrites; n++ {
		if n%1000 == 0 && n < 60_000 {
			o.Begin(false)
		}
		o.Set(storage.Write{Key: fmt.Sprint("k", n)})
	}
	if _, full := o.Next(storage.Write{Key: "one more"}); !full {
		t.Fatal("layers hold more writes than a turn may")
	}
}

// TestUnwind: what synchronous code had begun goes with everything in it; what outlives a turn stays.
func TestUnwind(t *testing.T) {
	o := &Turn{}
	set := func(v string) { o.Set(storage.Write{Key: "k", Value: []byte(v)}) }
	expect := func(want string) {
		t.Helper()
		if v, _, _ := o.Find("k"); string(v) != want {
			t.Fatalf("k is %q, want %q", v, want)
		}
	}
	set("base")
	o.Unwind()
	expect("base")
	o.Begin(false)
	set("lasting")
	for range 3 {
		o.Begin(true)
		set("sync")
	}
	o.Begin(false)
	o.Unwind()
	expect("lasting")
	if err := o.Rollback(1); err != nil {
		t.Fatal(err)
	}
	expect("base")
}

func TestLayersAreBounded(t *testing.T) {
	o := &Turn{}
	for range MaxLayers - 1 {
		if _, err := o.Begin(true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := o.Begin(true); !errors.Is(err, ErrLayers) {
		t.Fatal(err)
	}
	for _, n := range []int{-1, 0, MaxLayers} {
		if o.Commit(n) == nil || o.Rollback(n) == nil {
			t.Fatal("ended a transaction that is not there", n)
		}
	}
}
