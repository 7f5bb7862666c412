package walls

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// closeOthers closes every descriptor above 4 that is not the Go runtime's own.
func closeOthers() {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= 4 {
			continue
		}
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && !strings.HasPrefix(to, "anon_inode:[event") {
			unix.Close(fd)
		}
	}
}
