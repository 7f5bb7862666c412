package overseer

import (
	"strings"
	"sync"

	"toolshed/runtime/host"
)

// Line is one line of a gadget's console as people see it.
type Line struct {
	Level  string `json:"level"`  // debug, log, info, warn or error
	Text   string `json:"text"`   // at most maxLine bytes
	Time   int64  `json:"time"`   // milliseconds since 1970
	Source string `json:"source"` // "server", or "view" for a line from a user interface
}

const (
	consoleLines = 1_000   // lines kept for each gadget
	maxLine      = 8 << 10 // bytes of a line that are kept
)

// console keeps the last lines of a gadget and hands new ones to whoever watches. A watcher that falls behind misses
// lines; nothing waits for it.
type console struct {
	mu       sync.Mutex
	lines    []Line
	watchers map[chan []Line]bool
}

func (c *console) add(lines ...Line) {
	for i := range lines {
		if len(lines[i].Text) > maxLine {
			lines[i].Text = strings.ToValidUTF8(lines[i].Text[:maxLine], "") + "… (cut)"
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, lines...)
	if extra := len(c.lines) - consoleLines; extra > 0 {
		c.lines = append([]Line(nil), c.lines[extra:]...)
	}
	for w := range c.watchers {
		select {
		case w <- lines:
		default:
		}
	}
}

func (c *console) fromGuest(l host.Line) {
	c.add(Line{Level: l.Level, Text: l.Text, Time: l.Time.UnixMilli(), Source: "server"})
}

// watch returns the lines so far, a channel of the later ones, and the function that ends it.
func (c *console) watch() ([]Line, <-chan []Line, func()) {
	ch := make(chan []Line, 64)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watchers == nil {
		c.watchers = map[chan []Line]bool{}
	}
	c.watchers[ch] = true
	var once sync.Once
	stop := func() {
		once.Do(func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.watchers, ch)
			close(ch)
		})
	}
	return append([]Line(nil), c.lines...), ch, stop
}
