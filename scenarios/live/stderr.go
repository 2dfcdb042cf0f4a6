package live

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
)

// Limits of what is kept of a client's standard error, in bytes: on disk for each cell, and in a verdict.
const (
	maxStderr = 1 << 20
	maxQuoted = 300
)

// stderr keeps the beginning of what a client writes to its standard error, in a file of the cell that it serves, and remembers the end. What
// it writes beyond the limit is read and dropped: it must neither fill the disk nor stop the client. A client that writes nothing leaves
// no file.
type stderr struct {
	path func() string // where to keep what comes now; "": nowhere
	done chan struct{}

	mu   sync.Mutex
	file *os.File
	room int
	end  []byte // valid once done is closed
	err  error
}

// keepStderr returns the end of a pipe for the client; the caller closes it once the client has it.
func keepStderr(path func() string) (*stderr, *os.File, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	s := &stderr{path: path, done: make(chan struct{})}
	go s.listen(from)
	return s, to, nil
}

func (s *stderr) listen(from *os.File) {
	defer close(s.done)
	defer from.Close()
	buffer := make([]byte, 4<<10)
	for {
		n, err := from.Read(buffer)
		s.end = append(s.end, buffer[:n]...)
		s.end = s.end[max(0, len(s.end)-maxQuoted):]
		if n > 0 {
			s.keep(buffer[:n])
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
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

// next closes the file of a cell: what comes later belongs to another one.
func (s *stderr) next() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.err
	if s.file != nil {
		err = errors.Join(err, s.file.Close())
	}
	s.file, s.err = nil, nil
	return err
}

// String is the end of what a client wrote before it ended, as the end of a sentence about it. It is empty while the client's standard
// error is still open.
func (s *stderr) String() string {
	select {
	case <-s.done:
	default:
		return ""
	}
	text := strings.Join(strings.Fields(string(s.end)), " ")
	if text == "" {
		return ""
	}
	return "; stderr: " + text
}

// close waits until the client's standard error has ended; the client is gone by then.
func (s *stderr) close() error {
	<-s.done
	return s.next()
}
