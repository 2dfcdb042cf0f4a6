package play

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/locklab/locklab/history"
)

// HistoryFile is the name of a cell's history within the cell's directory.
const HistoryFile = "history.jsonl"

// Recorder keeps a cell's history. It also writes each event to its file, if any, at once, so that the history survives a kill of the lab.
// It is safe for concurrent use.
type Recorder struct {
	since func() time.Duration

	mu     sync.Mutex
	file   io.Closer
	out    *history.Writer // nil: the history is in memory only
	events []history.Event
	last   time.Duration // of the latest event
	err    error         // the first write that failed
	closed bool
	// readBack reads the events from the file; nil: they are kept in memory.
	readBack func() ([]history.Event, error)
}

// NewRecorder begins a history in memory. since reads the clock of the run.
func NewRecorder(since func() time.Duration) *Recorder {
	return &Recorder{since: since, events: make([]history.Event, 0, usualEvents)}
}

// usualEvents is room for the history of most scripts and schedules.
const usualEvents = 128

// NewFileRecorder begins a history in a file, which it closes. since reads the clock of the run.
func NewFileRecorder(file io.WriteCloser, header history.Header, since func() time.Duration) (*Recorder, error) {
	out, err := history.NewWriter(file, header)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("beginning the history: %w", err), file.Close())
	}
	return &Recorder{since: since, file: file, out: out}, nil
}

// Spill has the recorder keep no event in memory: Close returns those that readBack reads from the file. A storm has too many, and its
// script asks for none. It is called before the first event.
func (r *Recorder) Spill(readBack func() ([]history.Event, error)) { r.readBack = readBack }

// Add records e. An event without a time gets the present one. Times never decrease.
func (r *Recorder) Add(e history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if e.At == 0 {
		e.At = r.since()
	}
	e.At = max(e.At, r.last)
	r.last = e.At
	if r.readBack == nil {
		r.events = append(r.events, e)
	}
	if r.out == nil {
		return
	}
	if err := r.out.Write(e); err != nil && r.err == nil {
		r.err = err
	}
}

// Size is how many bytes of the file the events have taken so far.
func (r *Recorder) Size() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.out == nil {
		return 0
	}
	return r.out.Size()
}

// Count is how many events are such.
func (r *Recorder) Count(such func(history.Event) bool) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if such(e) {
			n++
		}
	}
	return n
}

// LastTouch is when a command last created, replaced or prolonged key.
func (r *Recorder) LastTouch(key string) (at time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.events) - 1; i >= 0; i-- {
		e := r.events[i]
		if e.Kind == history.KindCommand && e.Lock == key && touches(e) {
			return e.At, true
		}
	}
	return 0, false
}

// Reached says whether a command of an operation with the key was answered without an error.
func (r *Recorder) Reached(key string, op int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.events, func(e history.Event) bool {
		return e.Kind == history.KindCommand && e.Lock == key && e.ID == op && !e.Command().Failed()
	})
}

// RenewedSince names the servers on which a background command has prolonged the lock, or one of its keys, since a time.
func (r *Recorder) RenewedSince(from time.Duration, key string) (servers []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.events) - 1; i >= 0 && r.events[i].At >= from; i-- {
		e := r.events[i]
		if e.Kind != history.KindCommand || e.Op != history.OpNone {
			continue
		}
		for _, change := range e.Command().Changes {
			if change.Key == key && change.Effect(e.Command().Asked) == history.EffectProlonged {
				servers = append(servers, history.ServerOf(e.Command().Server))
			}
		}
	}
	return servers
}

// SlowestPass is the longest that a command, with the two probes around it, took at the tap and its server. What holds a request up takes
// no part in it.
func (r *Recorder) SlowestPass() (longest time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == history.KindCommand {
			longest = max(longest, e.Command().Asked)
		}
	}
	return longest
}

// touches says whether a command created, replaced or prolonged its lock. Without state probes, every command of an acquire or of the
// background counts.
func touches(e history.Event) bool {
	command := e.Command()
	if len(command.Changes) == 0 {
		return e.Op == history.OpAcquire || e.Op == history.OpNone
	}
	for _, change := range command.Changes {
		switch change.Effect(command.Asked) {
		case history.EffectCreated, history.EffectReplaced, history.EffectProlonged:
			return change.Key == e.Lock
		}
	}
	return false
}

// Close ends the record and returns its events, with the first error met while writing them.
func (r *Recorder) Close() ([]history.Event, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.file == nil {
		return r.events, nil
	}
	if err := r.file.Close(); err != nil && r.err == nil {
		r.err = err
	}
	if r.readBack == nil || r.err != nil {
		return r.events, r.err
	}
	return r.readBack()
}
