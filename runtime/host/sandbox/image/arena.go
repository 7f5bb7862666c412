package image

// arena is where the pages of images stand. A place and a length are in pages, and lie within bytes().
type arena interface {
	bytes() int
	// write lets f fill a new place, which holds zeros. False: it could not.
	write(at, pages int, f func(to []byte)) bool
	// read gives the pages of a place; they must not be changed.
	read(at, pages int) []byte
	// lay puts pages of the place at, from the one that is skip pages in, over a memory.
	lay(memory []byte, at, skip int) error
	// drop gives a place back to the system.
	drop(at, pages int)
}

// heap is an arena of ordinary memory, from which pages are copied.
type heap struct {
	size  int
	parts map[int][]byte // by place
}

func (h *heap) bytes() int { return h.size }

func (h *heap) write(at, pages int, f func(to []byte)) bool {
	b := make([]byte, pages*PageSize)
	f(b)
	h.parts[at] = b
	return true
}

func (h *heap) read(at, _ int) []byte { return h.parts[at] }

func (h *heap) lay(memory []byte, at, skip int) error {
	copy(memory, h.parts[at][skip*PageSize:])
	return nil
}

func (h *heap) drop(at, _ int) { delete(h.parts, at) }
