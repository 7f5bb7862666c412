package capnweb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && !eventually(func() bool { return runtime.NumGoroutine() <= 3 }) {
		buf := make([]byte, 1<<16)
		println("goroutines outlived their tests:\n" + string(buf[:runtime.Stack(buf, true)]))
		code = 1
	}
	os.Exit(code)
}

// bareSession is enough of a session to evaluate in.
func bareSession() *Session {
	return &Session{opts: (*Options)(nil).withDefaults(), ctx: context.Background(), budget: &budget{max: 1 << 30},
		exports: map[int64]*export{0: {hook: errDisposedStub, refs: 1}}, imports: map[int64]*importEntry{}, t: &stuckTransport{}}
}

func encodeText(v any) (string, error) {
	e := encoder{}
	err := e.value(v, 0)
	return string(e.buf), err
}

func decodeText(text string) (any, error) {
	tree, _, err := parseJSON([]byte(text), 600, 1<<30)
	if err != nil {
		return nil, err
	}
	s := bareSession()
	pl, err := (&evaluator{s: s, in: s}).payload(tree)
	if err != nil {
		return nil, err
	}
	return pl.value, nil
}

var huge, _ = new(big.Int).SetString("-12345678901234567890123", 10)

// roundTrips are values, their text, and what they decode to when that is another type.
var roundTrips = []struct {
	in   any
	text string
	back any
}{
	{nil, `null`, nil}, {true, `true`, nil}, {"", `""`, nil}, {1.5, `1.5`, nil}, {-3.0, `-3`, nil},
	{Undefined{}, `["undefined"]`, nil},
	{math.Inf(1), `["inf"]`, nil}, {math.Inf(-1), `["-inf"]`, nil},
	{math.Copysign(0, -1), `0`, 0.0}, {1e21, `1e+21`, nil}, {1e-7, `1e-7`, nil}, {5e-324, `5e-324`, nil},
	{123456789012345680000.0, `123456789012345680000`, nil}, {9007199254740993.0, `9007199254740992`, nil}, {0.1, `0.1`, nil},
	{7, `7`, 7.0}, {int8(-7), `-7`, -7.0}, {uint64(7), `7`, 7.0}, {float32(0.5), `0.5`, 0.5}, {uint8(1), `1`, 1.0},
	{huge, `["bigint","-12345678901234567890123"]`, nil},
	{Date(1e12), `["date",1000000000000]`, nil}, {time.UnixMilli(5), `["date",5]`, Date(5)},
	{[]byte{1, 2, 3}, `["bytes","AQID"]`, nil}, {[]byte{}, `["bytes",""]`, nil},
	{TypedArray{"Float32Array", []byte{0, 0, 0xc0, 0x3f}}, `["bytes","AADAPw","Float32Array"]`, nil},
	{TypedArray{"Uint8Array", []byte{1}}, `["bytes","AQ"]`, []byte{1}},
	{[]any{}, `[[]]`, nil}, {[]any{[]any{1.0}}, `[[[[1]]]]`, nil}, {[]string{"a"}, `[["a"]]`, []any{"a"}},
	{Object{{"z", 1.0}, {"a", []any{nil}}}, `{"z":1,"a":[[null]]}`, nil}, {Object{}, `{}`, nil},
	{map[string]any{"b": 1, "a": 2}, `{"a":2,"b":1}`, Object{{"a", 2.0}, {"b", 1.0}}},
	{URL("https://a.b/c"), `["url","https://a.b/c"]`, nil}, {&url.URL{Scheme: "x", Host: "y"}, `["url","x://y"]`, URL("x://y")},
	{Headers{{"a", "b"}}, `["headers",[["a","b"]]]`, nil}, {Headers{}, `["headers",[]]`, nil},
	{&Error{Name: "TypeError", Message: "m"}, `["error","TypeError","m"]`, nil},
	{&Error{Name: "E", Message: "m", Props: Object{{"code", 1.0}}}, `["error","E","m",null,{"code":1}]`, nil},
	{errors.New("plain"), `["error","Error","plain"]`, &Error{Name: "Error", Message: "plain"}},
	{"q\"\\\b\f\n\r\t\x00\x1f\u2028é😀<>&", `"q\"\\\b\f\n\r\t\u0000\u001f` + "\u2028é😀<>&\"", nil},
	{"bad\xffutf8", "\"bad\ufffdutf8\"", "bad\ufffdutf8"},
}

func TestRoundTrips(t *testing.T) {
	for _, c := range roundTrips {
		text, err := encodeText(c.in)
		if err != nil || text != c.text {
			t.Errorf("%#v encodes to %s (%v), want %s", c.in, text, err, c.text)
			continue
		}
		if !json.Valid([]byte(text)) {
			t.Errorf("%s is not JSON", text)
		}
		want := c.back
		if want == nil {
			want = c.in
		}
		got, err := decodeText(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s decodes to %#v (%v), want %#v", text, got, err, want)
		}
	}
	for _, text := range []string{`["nan"]`, `["date",null]`, `["date",1e300]`} {
		v, err := decodeText(text)
		f, ok := v.(float64)
		if d, isDate := v.(Date); isDate {
			f, ok = float64(d), true
		}
		if err != nil || !ok || !math.IsNaN(f) {
			t.Errorf("%s decodes to %#v (%v)", text, v, err)
		}
	}
	if v, err := decodeText(`["bytes","AQI="]`); err != nil || !bytes.Equal(v.([]byte), []byte{1, 2}) {
		t.Errorf("padded base64: %v %v", v, err)
	}
	if v, err := decodeText(`"\ud83d\ude00\ud83d\u0041\udc00/"`); err != nil || v != "😀\ufffdA\ufffd/" {
		t.Errorf("surrogates: %q %v", v, err)
	}
	if v, err := decodeText(` { "a" : 1 , "a" : 2 } `); err != nil || !reflect.DeepEqual(v, Object{{"a", 2.0}}) {
		t.Errorf("repeated key: %v %v", v, err)
	}
}

func TestUnserializable(t *testing.T) {
	cycle := make([]any, 1)
	cycle[0] = cycle
	for _, v := range []any{make(chan int), struct{}{}, func() {}, map[int]int{}, int64(1<<53 + 1), uint64(1 << 60),
		cycle, []any{struct{}{}}, TypedArray{"Nope", nil}, TypedArray{"Int16Array", []byte{1}}, NewStub(Methods{})} {
		if text, err := encodeText(v); err == nil {
			t.Errorf("%T was sent as %s", v, text)
		}
	}
	text, err := encodeText(&Error{Name: "E", Message: "m", Props: Object{{"f", func() {}}, {"ok", 1}}})
	if err != nil || text != `["error","E","m",null,{"ok":1}]` {
		t.Errorf("an error with a property that cannot be sent: %s %v", text, err)
	}
	p := newPair(t, nil)
	p.awaitError(p.main.Call(p.ctx, "echo", struct{}{}), "TypeError: Cannot serialize value: a type that RPC does not carry")
	p.awaitError(p.main.Call(p.ctx, "echo", []any{NewStub(Methods{}), struct{}{}}),
		"TypeError: Cannot serialize value: a type that RPC does not carry")
}

// FuzzMessage: no message makes a session panic, hang or show Go text, and what decodes
// encodes to something that decodes to the same.
func FuzzMessage(f *testing.F) {
	for _, c := range roundTrips {
		f.Add(`["push",["pipeline",0,["echo"],[` + c.text + `]]]`)
	}
	text, err := os.ReadFile("testdata/golden.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if frame, ok := strings.CutPrefix(strings.TrimSpace(line), "C> "); ok {
			f.Add(frame)
		}
	}
	f.Fuzz(func(t *testing.T, frame string) {
		a, b := Pipe()
		s := NewSession(b, (&server{}).target(), &Options{MaxMap: 10_000, OnPanic: func(v any) { panic(v) }})
		defer s.Close()
		_ = a.Send([]byte(frame))
		_ = a.Send([]byte(`["pull",1]`))
		_ = a.Send([]byte(`["bogus"]`))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		for {
			msg, err := a.Receive(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("hangs on %q", frame)
			}
			if !json.Valid(msg) {
				t.Fatalf("sent %q", msg)
			}
			if goText.Match(msg) && !goText.MatchString(frame) {
				t.Fatalf("Go text in %s", msg)
			}
		}
		v, err := decodeText(frame)
		if err != nil {
			return
		}
		again, err := encodeText(v)
		if err != nil {
			return // stubs, or too deep
		}
		w, err := decodeText(again)
		if err != nil {
			t.Fatalf("%s does not decode: %v", again, err)
		}
		if third, err := encodeText(w); err != nil || third != again {
			t.Fatalf("%s became %s (%v)", again, third, err)
		}
	})
}

// stuckTransport sends nothing until block is closed and receives nothing.
type stuckTransport struct {
	block chan struct{}
	in    atomic.Bool
}

func (s *stuckTransport) stuck() bool { return s.in.Load() }

func (s *stuckTransport) Send([]byte) error {
	s.in.Store(true)
	if s.block != nil {
		<-s.block
	}
	return nil
}

func (s *stuckTransport) Receive(ctx context.Context) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s *stuckTransport) Close(error) {}

func TestLineTransport(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan *Session, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			accepted <- NewSession(NewLineTransport(c, 1<<20), (&server{}).target(), nil)
		}
	}()
	c, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client := NewSession(NewLineTransport(c, 1<<20), nil, nil)
	remote := <-accepted
	m := client.Main()
	for _, v := range []any{"two\nlines", strings.Repeat("x", 200_000), []byte("\n")} {
		got, err := m.Call(t.Context(), "echo", v).Await(t.Context())
		if err != nil || !reflect.DeepEqual(got, v) {
			t.Fatalf("got %v", err)
		}
	}
	_, err = m.Call(t.Context(), "echo", strings.Repeat("x", 2<<20)).Await(t.Context())
	if err == nil {
		t.Fatal("a line over the maximum was accepted")
	}
	<-remote.Done()
	if !errors.Is(remote.Err(), ErrLineTooLong) {
		t.Errorf("the server ended with %v", remote.Err())
	}
	client.Close()
}

func TestLineTransportClose(t *testing.T) {
	x, y := net.Pipe() // cannot close one direction alone
	a, b := NewSession(NewLineTransport(x, 0), nil, nil), NewSession(NewLineTransport(y, 0), (&server{}).target(), nil)
	if v, err := a.Main().Call(t.Context(), "square", 4).Await(t.Context()); err != nil || v != 16.0 {
		t.Fatal(v, err)
	}
	a.Close()
	select {
	case <-b.Done():
	case <-time.After(5 * time.Second):
		t.Fatal("the other end did not notice")
	}
	if !errors.Is(b.Err(), ErrPeerClosed) {
		t.Errorf("ended with %v", b.Err())
	}
}
