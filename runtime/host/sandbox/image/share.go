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

// Changed returns the pages of base in which a memory no longer holds what it held when it was made, as Unchanged says.
func Changed(base []byte, im *Image, memory []byte) []Run {
	var runs []Run
	end, at := uint32(min(len(base), len(memory))/PageSize), uint32(0)
	for _, r := range append(Unchanged(base, im, memory), Run{Page: end}) {
		if r.Page = min(r.Page, end); r.Page > at {
			runs = append(runs, Run{at, r.Page - at})
		}
		at = r.Page + r.Pages
	}
	return runs
}

// Common returns the pages that are in both lists of runs; each is in order.
func Common(a, b []Run) []Run {
	var out []Run
	for len(a) > 0 && len(b) > 0 {
		from, to := max(a[0].Page, b[0].Page), min(a[0].Page+a[0].Pages, b[0].Page+b[0].Pages)
		if from < to {
			out = append(out, Run{from, to - from})
		}
		if a[0].Page+a[0].Pages == to {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return out
}
