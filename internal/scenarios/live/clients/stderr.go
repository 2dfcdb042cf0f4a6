package clients

import (
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
)

// Limits on a client's standard error, in bytes: on disk for each cell, in a verdict, and of the beginning where a verdict looks for an error.
const (
	maxStderr = 1 << 20
	maxQuoted = 300
	maxBegin  = 4 << 10
)

// stderr keeps the beginning of a client's standard error in a file of the client's cell, and its two ends in memory. It drops what exceeds the
// limit, so that output neither fills the disk nor blocks the client. Without output there is no file.
type stderr struct {
	path func() string // the present cell's file; "": none
	from *os.File
	Done chan struct{}

	mu   sync.Mutex
	file *os.File
	room int
	err  error

	begin, end []byte // valid once done is closed
}

// keepStderr returns the client's end of a pipe; the caller closes it once the client has started.
func keepStderr(path func() string) (*stderr, *os.File, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	s := &stderr{path: path, from: from, Done: make(chan struct{})}
	go s.listen()
	return s, to, nil
}

func (s *stderr) listen() {
	defer close(s.Done)
	defer s.from.Close()
	buffer := make([]byte, 4<<10)
	for {
		n, err := s.from.Read(buffer)
		s.begin = append(s.begin, buffer[:min(n, maxBegin-len(s.begin))]...)
		s.end = append(s.end, buffer[:n]...)
		s.end = s.end[max(0, len(s.end)-maxQuoted):]
		if n > 0 {
			s.keep(buffer[:n])
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) {
				s.fail(err)
			}
			return
		}
	}
}

func (s *stderr) keep(text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		path := s.path()
		if path == "" {
			return
		}
		file, err := os.Create(path)
		if err != nil {
			s.err = errors.Join(s.err, err)
			return
		}
		s.file, s.room = file, maxStderr
	}
	kept := min(len(text), s.room)
	s.room -= kept
	if _, err := s.file.Write(text[:kept]); err != nil {
		s.err, s.room = errors.Join(s.err, err), 0
	}
}

func (s *stderr) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = errors.Join(s.err, err)
}

// Next closes the file of a cell. Later output belongs to another cell.
func (s *stderr) Next() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.err
	if s.file != nil {
		err = errors.Join(err, s.file.Close())
	}
	s.file, s.err = nil, nil
	return err
}

// String quotes the client's standard error, as a clause: its end, behind the first line that names an error if that is not in it. It is empty
// while standard error is open.
func (s *stderr) String() string {
	select {
	case <-s.Done:
	default:
		return ""
	}
	text := oneLine(string(s.end))
	if text == "" {
		return ""
	}
	if first := firstError(string(s.begin)); !strings.Contains(text, first) { // what follows it is a trace of calls, or more errors
		if room := maxQuoted - len(first); len(text) > room {
			text = strings.ToValidUTF8(text[len(text)-room:], "")
		}
		text = first + " … " + text
	}
	return "; stderr: " + text
}

var namesError = regexp.MustCompile(`(?i)(error|exception|panic|fatal)\b`)

// firstError is the first line that names an error, at most two thirds of what may be quoted of it; "" if none does.
func firstError(text string) string {
	for line := range strings.Lines(text) {
		if namesError.MatchString(line) {
			line = oneLine(line)
			return strings.ToValidUTF8(line[:min(len(line), maxQuoted*2/3)], "")
		}
	}
	return ""
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Close waits until the client's standard error has ended; the client is gone by then.
func (s *stderr) Close() error {
	<-s.Done
	return s.Next()
}
