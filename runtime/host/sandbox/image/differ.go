package image

import "bytes"

// PageSize is the unit of an image, in bytes.
const PageSize = 4 << 10

// Run is a stretch of pages of a memory.
type Run struct{ Page, Pages uint32 }

func (r Run) in(memory []byte) []byte {
	return memory[int(r.Page)*PageSize : int(r.Page+r.Pages)*PageSize]
}

// Differ returns the pages in which now differs from base, in order, as at most most runs: those nearest to each other
// are joined, with the equal pages between them. Beyond its end base counts as zeros. Both sizes must be whole pages.
func Differ(base, now []byte, most int) []Run {
	var runs []Run
	var zeros [PageSize]byte
	for at := 0; at < len(now); at += PageSize {
		was := zeros[:]
		if at < len(base) {
			was = base[at : at+PageSize]
		}
		if bytes.Equal(was, now[at:at+PageSize]) {
			continue
		}
		page := uint32(at / PageSize)
		if n := len(runs); n > 0 && runs[n-1].Page+runs[n-1].Pages == page {
			runs[n-1].Pages++
			continue
		}
		runs = append(runs, Run{page, 1})
	}
	for gap := uint32(1); len(runs) > max(1, most); gap *= 2 {
		runs = join(runs, gap)
	}
	return runs
}

// join joins runs with at most gap pages between them.
func join(runs []Run, gap uint32) []Run {
	out := runs[:1]
	for _, r := range runs[1:] {
		last := &out[len(out)-1]
		if r.Page-(last.Page+last.Pages) <= gap {
			last.Pages = r.Page + r.Pages - last.Page
			continue
		}
		out = append(out, r)
	}
	return out
}
