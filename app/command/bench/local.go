package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"toolshed/runtime/capnweb"
	"toolshed/runtime/storage"
)

// Times and numbers of what is measured in this process.
const (
	rpcRunners = 8
	document   = 10 << 20 // bytes of the document that is edited
	edits      = 40
)

func (o Options) measureFor() time.Duration {
	if o.Few {
		return 50 * time.Millisecond
	}
	return 2 * time.Second
}

// storageFigures measures a gadget's store on the disk of the temporary folder.
func storageFigures(ctx context.Context, o Options) ([]Figure, error) {
	o.Note("storage")
	dir, remove, err := folder()
	if err != nil {
		return nil, err
	}
	defer remove()
	var out []Figure
	for _, writers := range []int{1, 64} {
		f, err := durableWrites(ctx, o, filepath.Join(dir, fmt.Sprint(writers)), writers)
		if err != nil {
			return out, err
		}
		out = append(out, f)
	}
	f, err := largeEdit(ctx, filepath.Join(dir, "document"))
	if err != nil {
		return out, err
	}
	return append(out, f...), nil
}

// durableWrites counts the turns of one small write that become durable, each writer waiting for its last.
func durableWrites(ctx context.Context, o Options, path string, writers int) (Figure, error) {
	s, err := storage.Open(path, nil)
	if err != nil {
		return Figure{}, err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, o.measureFor())
	defer cancel()
	var group sync.WaitGroup
	done := make([]int, writers)
	from := time.Now()
	for w := range writers {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				c := s.Apply(storage.Turn{Writes: []storage.Write{{Key: fmt.Sprint(w), Value: []byte(fmt.Sprint(n))}}}, nil)
				if c.Wait(context.Background()) != nil {
					return
				}
				done[w]++
			}
		})
	}
	group.Wait()
	took := time.Since(from)
	sum := 0
	for _, n := range done {
		sum += n
	}
	return Figure{Name: fmt.Sprintf("writes.%d", writers), Value: float64(sum) / took.Seconds(), Unit: "1/s", Runs: sum,
		Method: fmt.Sprintf("turns of one write made durable by %d writers at once, in a file on the temporary folder's disk", writers)}, s.Err()
}

// largeEdit measures what reaches the disk when a few bytes in the middle of a large document change.
func largeEdit(ctx context.Context, path string) ([]Figure, error) {
	s, err := storage.Open(path, nil)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	text := make([]byte, document)
	x := uint32(1)
	for k := range text {
		x = x*1664525 + 1013904223
		text[k] = "abcdefghijklmnopqrstuvwxyz     \n"[x>>27]
	}
	put := func() error {
		return s.Apply(storage.Turn{Writes: []storage.Write{{Key: "document", Value: append([]byte(nil), text...)}}}, nil).Wait(ctx)
	}
	if err := put(); err != nil {
		return nil, err
	}
	before, err := written()
	if err != nil {
		return nil, nil //nolint:nilerr // this system does not tell: no figure
	}
	var took time.Duration
	for n := range edits {
		copy(text[(n*7919*131)%(document-100):], fmt.Sprintf("edit number %d", n))
		from := time.Now()
		if err := put(); err != nil {
			return nil, err
		}
		took += time.Since(from)
	}
	after, err := written()
	if err != nil {
		return nil, err
	}
	return []Figure{
		{Name: "large_edit.bytes", Value: float64(after-before) / edits, Unit: "B", Runs: edits, Method: "bytes written to the file when some 15 bytes of a document of 10 MiB change; mean"},
		{Name: "large_edit.time", Value: took.Seconds() * 1000 / edits, Unit: "ms", Runs: edits, Method: "time until such an edit is durable; mean"},
	}, nil
}

// written returns how many bytes this process gave to write calls.
func written() (int64, error) {
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(line, "wchar:"); ok {
			return strconv.ParseInt(strings.TrimSpace(n), 10, 64)
		}
	}
	return 0, errors.New("the system does not tell")
}

// protocolFigures measures the protocol between two Go peers in one process.
func protocolFigures(ctx context.Context, o Options) ([]Figure, error) {
	o.Note("the protocol between two Go peers")
	near, far := capnweb.Pipe()
	target := capnweb.Methods{"square": func(_ context.Context, args []any) (any, error) {
		x, _ := args[0].(float64)
		return x * x, nil
	}}
	server := capnweb.NewSession(far, target, nil)
	defer server.Close()
	client := capnweb.NewSession(near, nil, nil)
	defer client.Close()
	main := client.Main()
	ctx, cancel := context.WithTimeout(ctx, o.measureFor())
	defer cancel()
	counts := make([]int, rpcRunners)
	var group sync.WaitGroup
	from := time.Now()
	for k := range rpcRunners {
		group.Go(func() {
			for ctx.Err() == nil {
				p := main.Call(ctx, "square", 5)
				if _, err := p.Await(ctx); err != nil {
					return
				}
				p.Dispose()
				counts[k]++
			}
		})
	}
	group.Wait()
	took := time.Since(from)
	sum := 0
	for _, n := range counts {
		sum += n
	}
	if err := client.Err(); err != nil {
		return nil, err
	}
	return []Figure{{Name: "rpc.go.calls_per_s", Value: float64(sum) / took.Seconds(), Unit: "1/s", Runs: sum,
		Method: fmt.Sprintf("calls between two Go peers over an in-process transport, %d goroutines that each await their call", rpcRunners)}}, nil
}
