package history

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
	"unsafe"
)

// maxLine bounds a line of a history file, in bytes. The lab writes much shorter lines.
const maxLine = 8 << 20

// What is read at a time, and how many events are read before the room for the others is guessed; less of a small file.
const (
	readBytes     = 256 << 10
	sampledEvents = 1024
)

// shortLine is the length of a short event's line.
const shortLine = 100

// Header is the first line of a history file: which run and cell it belongs to.
type Header struct {
	Version  int       `json:"locklab_history"`
	Run      string    `json:"run,omitempty"`
	Cell     string    `json:"cell,omitempty"`
	Lock     string    `json:"lock,omitempty"` // the algorithm under test
	Scenario string    `json:"scenario,omitempty"`
	Base     time.Time `json:"base"` // the wall-clock time from which every At counts
}

// File is a history read back.
type File struct {
	Header Header
	Events []Event
	// Truncated: the last line is incomplete, or the file is empty, as after a kill of the lab.
	Truncated bool
}

// Writer writes a history as JSON Lines. It is not safe for concurrent use.
type Writer struct {
	w    io.Writer
	line []byte
	size int64
}

// NewWriter writes the header, whose Version it sets, and returns a writer for the events.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	h.Version = Version
	line, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("history header: %w", err)
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	return &Writer{w: w}, nil
}

// Write appends one event as one line, with one call of the underlying writer, so that a lab that is killed loses at most
// the end of one line. Bytes that are not UTF-8 are written as the text \xNN.
func (w *Writer) Write(e Event) error {
	w.line = append(appendEvent(w.line[:0], &e), '\n')
	n, err := w.w.Write(w.line)
	w.size += int64(n)
	return err
}

// Size is how many bytes of events have been written.
func (w *Writer) Size() int64 { return w.size }

// ReadFile reads the history at path, which must be a regular file: others may have no end. Errors are "path: what" or "path:line: what".
// When ctx ends, the error is its cause.
func ReadFile(ctx context.Context, path string) (*File, error) {
	info, err := os.Stat(path) // before Open, which blocks on a pipe
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err == nil && info.Size() > MaxFile {
		err = errTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, plain(err))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, plain(err))
	}
	defer f.Close()
	return read(ctx, f, path, info.Size(), newValidator().check)
}

var errTooLarge = fmt.Errorf("the history is longer than %d bytes; the lab reads no longer ones", MaxFile)

var errNotRegular = errors.New("not a regular file; name a history that the lab has written")

// plain is an error without the path, which the reader names itself.
func plain(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// Read reads a history. A last line that was cut short is left out and noted; any other line that cannot be read, or that cannot follow
// the lines before it, is an error, worded "name:line: what". When ctx ends, the error is its cause.
func Read(ctx context.Context, r io.Reader, name string) (*File, error) {
	return read(ctx, r, name, 0, newValidator().check)
}

// eventsPerLook is how many events are read between two looks at the context.
const eventsPerLook = 4096

// read reads a history of about size bytes; zero means that the size is not known. Each event must pass check.
func read(ctx context.Context, r io.Reader, name string, size int64, check func(*Event) error) (*File, error) {
	if size == 0 {
		size = readBytes / 4
	}
	lines := lineReader{r: bufio.NewReaderSize(r, int(min(size+1, readBytes)))}
	fail := func(err error) (*File, error) {
		return nil, fmt.Errorf("%s:%d: %w", name, lines.number, err)
	}
	damaged := func(err error) (*File, error) {
		return fail(fmt.Errorf("%w; the file is damaged: restore it, or run the cell again", err))
	}

	line, whole, err := lines.next()
	if err == io.EOF {
		return &File{Truncated: true}, nil
	}
	if err != nil {
		return fail(err)
	}
	header, err := parseHeader(line)
	if err != nil {
		return fail(err)
	}
	file := &File{Header: header, Truncated: !whole, Events: make([]Event, 0, min(size/shortLine+1, sampledEvents))}
	dec := decoder{names: make(map[string]string)}
	defer dec.packer.close()
	for {
		if len(file.Events)%eventsPerLook == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		line, whole, err := lines.next()
		if err == io.EOF {
			return file, nil
		}
		if err != nil {
			return fail(err)
		}
		if n := len(file.Events); n == cap(file.Events) {
			file.Events = slices.Grow(file.Events, roomFor(n, lines.size, size))
		}
		file.Events = append(file.Events, Event{})
		last := &file.Events[len(file.Events)-1]
		err = dec.event(line, last)
		if err == nil {
			err = check(last)
		}
		if err == nil {
			dec.keep(last)
			continue
		}
		if whole {
			return damaged(err)
		}
		file.Events = file.Events[:len(file.Events)-1]
		file.Truncated = true
	}
}

// roomFor guesses how many events a file of size bytes still holds of which n took so many bytes, so that the slice seldom grows and has
// little more room than it needs. The guess is bounded: a size is no proof of events.
func roomFor(n int, read, size int64) int {
	const most = 256 << 20 / int64(unsafe.Sizeof(Event{}))
	rest := max(0, size-read) * int64(n) / max(1, read)
	return int(min(rest+rest/32+1, most))
}

func parseHeader(line []byte) (Header, error) {
	var h Header
	if err := json.Unmarshal(line, &h); err != nil {
		return h, fmt.Errorf("not the header of a history: %w", err)
	}
	if h.Version == 0 {
		return h, errors.New(`not the header of a history: no "locklab_history"`)
	}
	if h.Version != Version {
		return h, fmt.Errorf("history of version %d; this lab reads version %d", h.Version, Version)
	}
	return h, nil
}

// lineReader reads the lines of a file that are not blank.
type lineReader struct {
	r      *bufio.Reader
	long   []byte // a line that did not fit into r's buffer
	number int    // of the last line, from 1
	size   int64  // of the lines so far, in bytes
}

// next returns the next line without its end, valid until the next call, and whether the line's end was there.
func (l *lineReader) next() (line []byte, whole bool, err error) {
	for {
		l.number++
		line, err := l.r.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			line, err = l.readLong(line)
		}
		if err != nil && err != io.EOF {
			return nil, false, err
		}
		if l.size += int64(len(line)); l.size > MaxFile {
			return nil, false, errTooLarge
		}
		whole := err == nil
		line = bytes.TrimSpace(line)
		if len(line) > 0 {
			return line, whole, nil
		}
		if !whole {
			return nil, false, io.EOF
		}
	}
}

func (l *lineReader) readLong(start []byte) ([]byte, error) {
	l.long = append(l.long[:0], start...)
	for {
		part, err := l.r.ReadSlice('\n')
		l.long = append(l.long, part...)
		if len(l.long) > maxLine {
			return nil, fmt.Errorf("line is longer than %d bytes", maxLine)
		}
		if err != bufio.ErrBufferFull {
			return l.long, err
		}
	}
}
