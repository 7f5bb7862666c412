package wire

import "io"

// Duplex makes one link of two pipes.
type Duplex struct {
	io.ReadCloser
	Writer io.WriteCloser
}

// Write implements io.Writer.
func (d Duplex) Write(b []byte) (int, error) { return d.Writer.Write(b) }

// Close closes both pipes.
func (d Duplex) Close() error {
	d.Writer.Close()
	return d.ReadCloser.Close()
}
