package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"toolshed/runtime/capnweb"
)

// Batch gathers calls for one request. Make the calls on Main, then Do sends them all.
type Batch struct {
	client *http.Client
	url    string
	opts   Options
	t      *exchange
	s      *capnweb.Session
}

// New starts a batch for the server at url. A nil client means http.DefaultClient. A batch
// that is not sent must be closed.
func New(client *http.Client, url string, o *Options) *Batch {
	if client == nil {
		client = http.DefaultClient
	}
	b := &Batch{client: client, url: url, opts: o.withDefaults()}
	b.t = newExchange(b.opts.MaxBody, true)
	b.s = capnweb.NewSession(b.t, nil, b.opts.Session)
	return b
}

// Main returns a new stub of the server's main object.
func (b *Batch) Main() *capnweb.Stub { return b.s.Main() }

// Do sends the batch, once, and returns when the answer has been read. The results of want,
// and of whatever was awaited before, are asked for; other calls are made, and their results
// dropped. The error is that of the request; what a call has thrown is the error of its
// promise.
func (b *Batch) Do(ctx context.Context, want ...*capnweb.Promise) error {
	for _, p := range want {
		p.Done()
	}
	ctx, cancel := context.WithTimeout(ctx, b.opts.Timeout)
	defer cancel()
	defer b.s.Close()
	if err := b.s.Drain(ctx); err != nil {
		return err
	}
	body, err := b.post(ctx)
	if err != nil {
		return err
	}
	b.t.receive(body)
	select {
	case <-b.s.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := b.s.Err(); !errors.Is(err, ErrEnded) {
		return err
	}
	return nil
}

// Close ends a batch that is not sent; its calls fail.
func (b *Batch) Close() { b.s.Close() }

// post sends what was gathered and returns the body of the answer.
func (b *Batch) post(ctx context.Context) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url, strings.NewReader(b.t.body()))
	if err != nil {
		return "", fmt.Errorf("batch: %w", err)
	}
	request.Header.Set("Content-Type", "text/plain; charset=utf-8")
	response, err := b.client.Do(request)
	if err != nil {
		return "", fmt.Errorf("batch: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("batch: the server answered %s", response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, int64(b.opts.MaxBody)+1))
	if err != nil {
		return "", fmt.Errorf("batch: %w", err)
	}
	if len(text) > b.opts.MaxBody {
		return "", errTooLarge
	}
	return string(text), nil
}
