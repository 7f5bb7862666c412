// Package pages checks the pages of a bbolt file before bbolt follows a pointer in it: bbolt believes what it reads, and
// would follow a loop of pages until the process dies.
//
// It also gives a file that was closed a mark that any later write destroys, so that the next opening need not read
// everything. It reads the file itself, knows nothing of what the records mean, and changes nothing but the file's time.
package pages

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"time"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Broken says what is wrong with a file.
type Broken string

// Error returns what is wrong.
func (b Broken) Error() string { return string(b) }

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

// Depth says how much of a file is read before it is believed.
type Depth int

const (
	Always      Depth = iota // every page in use
	UnlessClean              // only what leads to other pages, if the file is as it was when it was closed
)

// Check walks every page that the file's newest meta reaches and fails with Broken unless all pointers stay inside the
// file, no page is reached twice, and keys rise. The bucket of that name holds a bucket under each of its keys; the
// others hold records. The caller holds the file's lock.
//
// Of a clean file it reads everything but the contents of leaves that hold records: what damage does there stays inside
// one value and shows as an error when that is read.
func Check(path string, depth Depth, nested []byte) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	c := checker{file: f, size: info.Size(), nested: nested}
	if err := c.meta(); err != nil {
		return err
	}
	if err := c.freelist(c.free); err != nil {
		return err
	}
	c.heads = depth == UnlessClean && c.clean(info)
	return c.tree(c.root, 0, rootLevel)
}

// clean reports whether the file has its mark.
func (c *checker) clean(info os.FileInfo) bool { return info.ModTime().Nanosecond() == c.cleanMark() }

// cleanMark is the fraction of a second, in nanoseconds, that the modification time of the file has after a clean
// close. Every write to the file sets another time, so the mark needs no write and no sync of its own. It depends
// on the head of the newest transaction and on the size; a file system with coarse times keeps no mark, and such a
// file is always checked whole. It is never 0, and a multiple of the 100 ns that Windows counts in.
func (c *checker) cleanMark() int {
	sum := crc32.Update(crc32.Checksum(c.newest, castagnoli), castagnoli, binary.BigEndian.AppendUint64(nil, uint64(c.size)))
	return int(1+sum%9_999_999) * 100
}

// Clean reports whether the file has the mark of a clean close. A file that cannot be read has none.
func Clean(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false
	}
	c := checker{file: f, size: info.Size()}
	return c.meta() == nil && c.clean(info)
}

// MarkClean gives a file that is whole and durable its mark. The caller holds the file's lock. A mark that cannot
// be made is no error: the next Open checks the whole file.
func MarkClean(path string) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return
	}
	c := checker{file: f, size: info.Size()}
	if c.meta() == nil {
		os.Chtimes(path, time.Time{}, time.Unix(time.Now().Unix()-1, int64(c.cleanMark())))
	}
}

type checker struct {
	file     *os.File
	size     int64
	pageSize int64
	newest   []byte // the meta that counts
	root     uint64
	free     uint64   // the page of the free list
	high     uint64   // the first page number beyond the used part
	seen     []uint64 // a bit for each page
	nested   []byte   // the name of the bucket of buckets
	heads    bool     // read only the head of a leaf that leads nowhere
	buffers  [][]byte // that no page is in
}

// mark notes that a page is reached and reports whether it was before.
func (c *checker) mark(id uint64) (again bool) {
	again = c.seen[id/64]>>(id%64)&1 == 1
	c.seen[id/64] |= 1 << (id % 64)
	return again
}

func bad(format string, args ...any) error {
	return Broken(fmt.Sprintf(format, args...))
}

// meta finds the meta page that bbolt will use: of two with a good checksum, the one of the later transaction.
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
	c.newest = newest
	c.root = binary.NativeEndian.Uint64(newest[16:])
	c.free = binary.NativeEndian.Uint64(newest[32:])
	c.high = binary.NativeEndian.Uint64(newest[40:])
	if c.pageSize < 512 || c.pageSize > 1<<20 || c.high < 3 || c.high > uint64(c.size/c.pageSize) {
		return bad("it is shorter than it says")
	}
	c.seen = make([]uint64, c.high/64+1)
	return nil
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
	pages, _, err := c.head(id, freelistPage)
	if err != nil {
		return err
	}
	page, err := c.read(id, pages)
	if err != nil {
		return err
	}
	defer c.done(page)
	count, list := uint64(binary.NativeEndian.Uint16(page[10:])), page[pageHeader:]
	if count == 0xFFFF {
		count, list = binary.NativeEndian.Uint64(list), list[8:]
	}
	if count > uint64(len(list)/8) {
		return bad("its list of free pages is broken")
	}
	for n := range count {
		free := binary.NativeEndian.Uint64(list[n*8:])
		if free < 2 || free >= c.high || c.mark(free) {
			return bad("its list of free pages is broken")
		}
	}
	return nil
}

// head reads the head of a page and checks that the page is of a wanted kind and, with its overflow, was not reached
// before. It returns the number of pages and the kind.
func (c *checker) head(id uint64, kinds uint16) (pages uint64, kind uint16, err error) {
	if id < 2 || id >= c.high {
		return 0, 0, bad("page %d is out of range", id)
	}
	var head [pageHeader]byte
	if _, err := c.file.ReadAt(head[:], int64(id)*c.pageSize); err != nil {
		return 0, 0, bad("page %d cannot be read (%v)", id, err)
	}
	kind, overflow := binary.NativeEndian.Uint16(head[8:]), uint64(binary.NativeEndian.Uint32(head[12:]))
	if binary.NativeEndian.Uint64(head[:]) != id || kind&kinds == 0 || kind&(kind-1) != 0 || overflow >= c.high-id {
		return 0, 0, bad("page %d has a broken head", id)
	}
	for n := range overflow + 1 {
		if c.mark(id + n) {
			return 0, 0, bad("page %d is used twice", id+n)
		}
	}
	return overflow + 1, kind, nil
}

// read reads pages. The caller gives the buffer back with done.
func (c *checker) read(id, pages uint64) ([]byte, error) {
	size := int64(pages) * c.pageSize
	var page []byte
	if last := len(c.buffers) - 1; last >= 0 {
		page, c.buffers = c.buffers[last], c.buffers[:last]
	}
	if int64(cap(page)) < size {
		page = make([]byte, size)
	}
	if _, err := c.file.ReadAt(page[:size], int64(id)*c.pageSize); err != nil {
		return nil, bad("page %d cannot be read (%v)", id, err)
	}
	return page[:size], nil
}

func (c *checker) done(page []byte) { c.buffers = append(c.buffers, page) }

// level is what the leaves of a tree hold.
type level int

const (
	rootLevel   level = iota // the buckets by name
	nestedLevel              // buckets
	dataLevel                // records: nothing that leads to other pages
)

// tree checks the pages below and with id.
func (c *checker) tree(id uint64, depth int, level level) error {
	if depth > maxTreeDepth {
		return bad("its pages are nested too deep")
	}
	pages, kind, err := c.head(id, branchPage|leafPage)
	if err != nil {
		return err
	}
	if kind == leafPage && c.heads && level == dataLevel {
		return nil
	}
	page, err := c.read(id, pages)
	if err != nil {
		return err
	}
	defer c.done(page)
	if kind == leafPage {
		return c.leaf(page, depth, level)
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
		if err := c.tree(binary.NativeEndian.Uint64(page[at+8:]), depth+1, level); err != nil {
			return err
		}
	}
	return nil
}

// leaf checks the elements of a leaf page, or of a bucket's leaf inside a value, and the buckets in it.
func (c *checker) leaf(page []byte, depth int, level level) error {
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
			inside := dataLevel
			if level == rootLevel && bytes.Equal(key, c.nested) {
				inside = nestedLevel
			}
			if err := c.bucket(value, depth, inside); err != nil {
				return err
			}
		default:
			return bad("a leaf is broken")
		}
	}
	return nil
}

// bucket checks a bucket: a tree of its own, or one leaf inside the value.
func (c *checker) bucket(value []byte, depth int, level level) error {
	if len(value) < 16 {
		return bad("a bucket is broken")
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return c.tree(root, depth+1, level)
	}
	inline := value[16:]
	if len(inline) < pageHeader || binary.NativeEndian.Uint16(inline[8:]) != leafPage {
		return bad("a bucket is broken")
	}
	return c.leaf(inline, depth+1, level)
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
