package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
)

// bbolt's file format, as its sources define it: pages of pageSize bytes, each with a header of 16 bytes (id u64,
// flags u16, count u16, overflow u32), in the byte order of the machine. Pages 0 and 1 are metas; elements of a
// branch or a leaf follow the header, 16 bytes each, and point at keys and values further on.
const (
	pageHeader   = 16
	elementSize  = 16
	metaSize     = 64
	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10
	bucketLeaf   = 0x01
	maxTreeDepth = 64
)

// checkPages walks every page that the file's newest meta reaches and fails with ErrDamaged unless all pointers
// stay inside the file, no page is reached twice, and keys rise. bbolt itself would follow a loop of pages until
// the process dies. The caller holds the file's lock.
func checkPages(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	c := checker{file: f, size: info.Size(), seen: map[uint64]bool{}}
	if err := c.meta(); err != nil {
		return err
	}
	return c.tree(c.root, 0)
}

type checker struct {
	file     *os.File
	size     int64
	pageSize int64
	root     uint64
	high     uint64 // the first page number beyond the used part
	seen     map[uint64]bool
}

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// meta finds the meta page that bbolt will use and checks the free list it names. bbolt has already verified the
// metas' checksums; of two good ones the later transaction counts.
func (c *checker) meta() error {
	var newest []byte
	head := make([]byte, pageHeader+metaSize)
	c.pageSize = int64(os.Getpagesize())
	for n := range int64(2) {
		if _, err := c.file.ReadAt(head, n*c.pageSize); err != nil {
			return bad("it is too short")
		}
		m := bytes.Clone(head[pageHeader:])
		if n == 0 && metaValid(m) {
			c.pageSize = int64(binary.NativeEndian.Uint32(m[8:]))
		}
		if metaValid(m) && (newest == nil || binary.NativeEndian.Uint64(m[48:]) > binary.NativeEndian.Uint64(newest[48:])) {
			newest = m
		}
	}
	if newest == nil {
		return bad("it has no valid head")
	}
	c.pageSize = int64(binary.NativeEndian.Uint32(newest[8:]))
	c.root = binary.NativeEndian.Uint64(newest[16:])
	c.high = binary.NativeEndian.Uint64(newest[40:])
	if c.pageSize < 512 || c.pageSize > 1<<20 || c.high < 3 || c.high > uint64(c.size/c.pageSize) {
		return bad("it is shorter than it says")
	}
	return c.freelist(binary.NativeEndian.Uint64(newest[32:]))
}

// metaValid verifies the checksum (FNV-1a) of a meta.
func metaValid(m []byte) bool {
	sum := uint64(14695981039346656037)
	for _, b := range m[:56] {
		sum = (sum ^ uint64(b)) * 1099511628211
	}
	return binary.NativeEndian.Uint32(m) == 0xED0CDAED && sum == binary.NativeEndian.Uint64(m[56:])
}

// freelist checks the list of free pages, which bbolt reads whole into memory.
func (c *checker) freelist(id uint64) error {
	if id == ^uint64(0) {
		return nil // not kept in this file
	}
	page, err := c.page(id, freelistPage)
	if err != nil {
		return err
	}
	count, list := uint64(binary.NativeEndian.Uint16(page[10:])), page[pageHeader:]
	if count == 0xFFFF {
		count, list = binary.NativeEndian.Uint64(list), list[8:]
	}
	if count > uint64(len(list)/8) {
		return bad("its list of free pages is broken")
	}
	for n := range count {
		free := binary.NativeEndian.Uint64(list[n*8:])
		if free < 2 || free >= c.high || c.seen[free] {
			return bad("its list of free pages is broken")
		}
		c.seen[free] = true
	}
	return nil
}

// page reads a page with its overflow and checks that it is of a wanted kind and not reached before.
func (c *checker) page(id uint64, kinds uint16) ([]byte, error) {
	if id < 2 || id >= c.high {
		return nil, bad("page %d is out of range", id)
	}
	head := make([]byte, pageHeader)
	if _, err := c.file.ReadAt(head, int64(id)*c.pageSize); err != nil {
		return nil, bad("page %d cannot be read (%v)", id, err)
	}
	flags, overflow := binary.NativeEndian.Uint16(head[8:]), uint64(binary.NativeEndian.Uint32(head[12:]))
	if binary.NativeEndian.Uint64(head) != id || flags&kinds == 0 || flags&(flags-1) != 0 || overflow >= c.high-id {
		return nil, bad("page %d has a broken head", id)
	}
	for n := range overflow + 1 {
		if c.seen[id+n] {
			return nil, bad("page %d is used twice", id+n)
		}
		c.seen[id+n] = true
	}
	page := make([]byte, int64(overflow+1)*c.pageSize)
	if _, err := c.file.ReadAt(page, int64(id)*c.pageSize); err != nil {
		return nil, bad("page %d cannot be read (%v)", id, err)
	}
	return page, nil
}

// tree checks the pages below and with id.
func (c *checker) tree(id uint64, depth int) error {
	if depth > maxTreeDepth {
		return bad("its pages are nested too deep")
	}
	page, err := c.page(id, branchPage|leafPage)
	if err != nil {
		return err
	}
	if binary.NativeEndian.Uint16(page[8:]) == leafPage {
		return c.leaf(page, depth)
	}
	var last []byte
	for n := range int(binary.NativeEndian.Uint16(page[10:])) {
		at := pageHeader + n*elementSize
		if at+elementSize > len(page) {
			return bad("page %d has a broken index", id)
		}
		key, _, ok := element(page, at, page[at:], page[at+4:], nil)
		if !ok || n > 0 && bytes.Compare(last, key) >= 0 {
			return bad("page %d has a broken index", id)
		}
		last = key
		if err := c.tree(binary.NativeEndian.Uint64(page[at+8:]), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// leaf checks the elements of a leaf page, or of a bucket's leaf inside a value, and the buckets in it.
func (c *checker) leaf(page []byte, depth int) error {
	var last []byte
	for n := range int(binary.NativeEndian.Uint16(page[10:])) {
		at := pageHeader + n*elementSize
		if at+elementSize > len(page) {
			return bad("a leaf is broken")
		}
		key, value, ok := element(page, at, page[at+4:], page[at+8:], page[at+12:])
		if !ok || n > 0 && bytes.Compare(last, key) >= 0 {
			return bad("a leaf is broken")
		}
		last = key
		switch binary.NativeEndian.Uint32(page[at:]) {
		case 0:
		case bucketLeaf:
			if err := c.bucket(value, depth); err != nil {
				return err
			}
		default:
			return bad("a leaf is broken")
		}
	}
	return nil
}

// bucket checks a bucket: a tree of its own, or one leaf inside the value.
func (c *checker) bucket(value []byte, depth int) error {
	if len(value) < 16 {
		return bad("a bucket is broken")
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return c.tree(root, depth+1)
	}
	inline := value[16:]
	if len(inline) < pageHeader || binary.NativeEndian.Uint16(inline[8:]) != leafPage {
		return bad("a bucket is broken")
	}
	return c.leaf(inline, depth+1)
}

// element returns the key and value that an element at offset at points to.
func element(page []byte, at int, pos, keySize, valueSize []byte) (key, value []byte, ok bool) {
	start := uint64(at) + uint64(binary.NativeEndian.Uint32(pos))
	middle := start + uint64(binary.NativeEndian.Uint32(keySize))
	end := middle
	if valueSize != nil {
		end += uint64(binary.NativeEndian.Uint32(valueSize))
	}
	if end > uint64(len(page)) {
		return nil, nil, false
	}
	return page[start:middle], page[middle:end], true
}
