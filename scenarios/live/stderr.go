package live

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
)

// Limits on a client's standard error, in bytes: on disk for each cell, and in a verdict.
const (
	maxStderr = 1 << 20
	maxQuoted = 300
)

// stderr keeps the beginning of a client's standard error in a file of the client's cell, and its end in memory. It drops what exceeds the
// limit, so that output neither fills the disk nor blocks the client. Without output there is no file.
type stderr struct {
	path func() string // the present cell's file; "": none
	from *os.File
	done chan struct{}

	mu   sync.Mutex
	file *os.File
	room int
	end  []byte // valid once done is closed
	err  error
}

// keepStderr returns the client's end of a pipe; the caller closes it once the client has started.
func keepStderr(path func() string) (*stderr, *os.File, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	s := &stderr{path: path, from: from, done: make(chan struct{})}
	go s.listen()
	return s, to, nil
}

func (s *stderr) listen() {
	defer close(s.done)
	defer s.from.Close()
	buffer := make([]byte, 4<<10)
	for {
		n, err := s.from.Read(buffer)
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

// next closes the file of a cell. Later output belongs to another cell.
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

// String is the end of the client's standard error, as a clause. It is empty while standard error is open.
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
