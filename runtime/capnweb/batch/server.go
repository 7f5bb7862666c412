package batch

import (
	"context"
	"errors"
	"io"
	"net/http"

	"toolshed/runtime/capnweb"
)

// Handler serves batches. main gives the main object for a request: a capnweb.Target, a
// *capnweb.Stub (duplicated) or nil. It answers 405 to anything but POST, 413 to a body that
// is too large, 504 when calls are not done in time, 500 when their answers are too large.
// A batch that breaks the protocol is answered with the abort message.
func Handler(main func(r *http.Request) any, o *Options) http.Handler {
	opts := o.withDefaults()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "This address only accepts POST requests.", http.StatusMethodNotAllowed)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), opts.Timeout)
		defer cancel()
		in, status := readBody(ctx, w, r, opts)
		if status == 0 {
			in, status = answer(ctx, in, main(r), opts)
		}
		if status != http.StatusOK {
			http.Error(w, http.StatusText(status), status)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, in)
	})
}

// readBody reads a request; the second result is the status of a failure, or 0.
func readBody(ctx context.Context, w http.ResponseWriter, r *http.Request, opts Options) (string, int) {
	if deadline, ok := ctx.Deadline(); ok {
		_ = http.NewResponseController(w).SetReadDeadline(deadline)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(opts.MaxBody)))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return "", http.StatusRequestEntityTooLarge
	case err != nil:
		return "", http.StatusBadRequest
	}
	return string(body), 0
}

// answer runs the session of one batch and returns the body and status to answer with.
func answer(ctx context.Context, body string, main any, opts Options) (string, int) {
	t := newExchange(opts.MaxBody, false)
	s := capnweb.NewSession(t, main, opts.Session)
	defer s.Close()
	t.receive(body)
	select {
	case <-t.read:
	case <-s.Done():
	case <-ctx.Done():
		return "", http.StatusGatewayTimeout
	}
	if err := s.Drain(ctx); err != nil && ctx.Err() != nil {
		return "", http.StatusGatewayTimeout
	} else if errors.Is(err, errTooLarge) {
		return "", http.StatusInternalServerError
	} else if err != nil {
		select { // the abort message is on its way out
		case <-s.Done():
		case <-ctx.Done():
			return "", http.StatusGatewayTimeout
		}
	}
	return t.body(), http.StatusOK
}
