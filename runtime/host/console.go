package host

import (
	"time"

	"toolshed/runtime/host/wire"
)

// A console line leaves like a message: with its turn, once the turn is durable. What a gadget says of its state is then
// true after a crash too. When the turn is lost its lines come after the failure, for whoever looks for the reason.

// log keeps a console line for the turn's end, within bounds. A line without a level only tells how many were dropped,
// and comes between turns.
func (i *Instance) log(u *wire.Unpacker) {
	now := time.Now()
	lvl, text, dropped := u.Text(), wire.Clip(u.Text(), wire.MaxLine), int(min(u.Uint(), 1<<31))
	if !u.End() || i.spec.Console == nil {
		return
	}
	ok, more := i.gate.Admit(now)
	i.mu.Lock()
	full := i.linesN >= maxLines
	i.mu.Unlock()
	if !ok || full {
		i.gate.Dropped += dropped + more
		if ok && lvl != "" {
			i.gate.Dropped++
		}
		return
	}
	var lines []Line
	if dropped += more; dropped > 0 {
		lines = append(lines, Line{"warn", wire.DroppedText(dropped), now})
	}
	if lvl != "" {
		lines = append(lines, Line{wire.Level(lvl), text, now})
	}
	i.mu.Lock()
	i.linesN += len(lines)
	if lvl != "" {
		i.lines = append(i.lines, lines...)
	}
	i.mu.Unlock()
	if lvl == "" {
		i.pass(release{lines: lines})
	}
}

// takeLines returns the lines of the turn that has come to its end.
func (i *Instance) takeLines() []Line {
	i.mu.Lock()
	defer i.mu.Unlock()
	lines := i.lines
	i.lines = nil
	return lines
}

// tell hands lines to the spec's Console.
func (i *Instance) tell(lines []Line) {
	if len(lines) == 0 {
		return
	}
	i.telling.Lock()
	for _, l := range lines {
		i.spec.Console(l)
	}
	i.telling.Unlock()
	i.mu.Lock()
	i.linesN -= len(lines)
	i.mu.Unlock()
}

// flush tells what an ended instance said last.
func (i *Instance) flush() {
	i.mu.Lock()
	frames := i.frames
	i.frames = nil
	i.mu.Unlock()
	for _, f := range frames {
		if f.Kind == wire.Log {
			i.log(&wire.Unpacker{B: f.Body})
		}
	}
	i.tell(i.takeLines())
}
