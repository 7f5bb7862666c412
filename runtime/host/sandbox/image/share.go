package image

import "bytes"

// Unchanged returns the pages of a memory that hold what they held when it was made: of base, with im laid over it if that
// is not nil, and zeros beyond. The system may forget what the process keeps of them for itself.
func Unchanged(base []byte, im *Image, memory []byte) []Run {
	var runs []Run
	var laid []Run
	var held []byte
	if im != nil {
		s, e := im.store, im.entry
		s.mu.Lock()
		laid, held = e.runs, s.arena.read(e.at, e.pages)
		s.mu.Unlock()
	}
	var zeros [PageSize]byte
	for page := uint32(0); int(page+1)*PageSize <= len(memory); page++ {
		was, copied := zeros[:], false
		if at := int(page) * PageSize; at < len(base) {
			was = base[at : at+PageSize]
		}
		for len(laid) > 0 && page >= laid[0].Page+laid[0].Pages {
			laid = laid[1:]
		}
		if len(laid) > 0 && page >= laid[0].Page {
			was, held, copied = held[:PageSize], held[PageSize:], im.laid == 0
		}
		if copied || !bytes.Equal(was, memory[int(page)*PageSize:][:PageSize]) {
			continue
		}
		if n := len(runs); n > 0 && runs[n-1].Page+runs[n-1].Pages == page {
			runs[n-1].Pages++
		} else {
			runs = append(runs, Run{page, 1})
		}
	}
	return runs
}
