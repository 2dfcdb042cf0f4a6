// Package resource owns how data and commands of the protected resource are read: as a number that grows with each update, where a workload has one. Both
// judges read by it. It must not judge.
package resource

import (
	"strconv"
	"strings"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// Wire is what the commands of a work operation to the protected resource said: what it read, and what it wrote then. Where it did
// so several times, the last write counts.
type Wire struct {
	seen, got, put          int64
	hasSeen, hasGot, hasPut bool
	wrote                   bool // something was written, whether or not it can be understood here
}

// note takes in a command of the operation. What the client did not hear, it has not read.
func (w *Wire) note(c *history.Command) {
	if !timeline.Answered(c) {
		return
	}
	unheard := c.Late || c.Again || c.ReplyDropped
	switch name := strings.ToUpper(c.Args[0]); {
	case name == "GET" && unheard:
	case name == "GET":
		w.seen, w.hasSeen = counted(c.Reply)
	case name == "SET" && len(c.Args) > 2 && c.Reply == "OK":
		w.got, w.hasGot = w.seen, w.hasSeen
		w.put, w.hasPut = counted(c.Args[2])
		w.wrote = true
	case name == "INCR":
		w.put, w.hasPut = counted(c.Reply)
		w.got, w.hasGot = w.put-1, w.hasPut
		w.wrote = true
	case timeline.AcceptedWrite(c):
		w.hasGot, w.hasPut, w.wrote = false, false, true
	}
}

// counted reads a counter as the record shows it. One that is not there stands at zero.
func counted(text string) (n int64, ok bool) {
	if text == "nil" {
		return 0, true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// read says which value the update that e acknowledges has replaced by the next one. ok is false where that is not known. wired:
// commands to the resource are on record; an update of which there is none has not happened.
func (w *Wire) read(e *history.Event, wired bool) (read int64, ok bool) {
	if wired && !w.wrote {
		return 0, false
	}
	var d history.Detail
	if e.Detail != nil {
		d = *e.Detail
	}
	read, wrote := d.Read, d.Wrote
	if w.hasPut {
		read, wrote = w.put-1, w.put
	}
	if w.hasGot {
		read = w.got
	}
	return read, wrote == read+1
}
