package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/locklab/locklab/internal/faults/server"
)

// spares are the lab's own servers that no cell uses, each reset. To start a server takes a fifth of a cell's set-up, and few cells may set
// up at a time.
type spares struct {
	mu      sync.Mutex
	free    []*spare
	started int
	closed  bool
}

// spare is one of the lab's own servers, with its log file, if any.
type spare struct {
	server.Server
	log string
}

// linkLog makes the log available at a path.
func (s *spare) linkLog(path string) error {
	if s.log == "" {
		return nil
	}
	target, err := filepath.Rel(filepath.Dir(path), s.log)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // left by an attempt that a host stall ended
		return err
	}
	return os.Symlink(target, path)
}

// take hands out a spare, or nil.
func (s *spares) take() *spare {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == 0 {
		return nil
	}
	last := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	return last
}

// nextLog is the log file of the next server.
func (s *spares) nextLog(dir string) (string, error) {
	s.mu.Lock()
	s.started++
	n := s.started
	s.mu.Unlock()
	dir = filepath.Join(dir, "servers")
	return filepath.Join(dir, fmt.Sprintf("%d.log", n)), os.MkdirAll(dir, 0o755)
}

// putBack resets a server for the next cell, or closes it if that fails.
func (s *spares) putBack(used *spare) error {
	resetter, ok := used.Server.(server.Resetter)
	if !ok || resetter.Reset(context.Background()) != nil {
		return used.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return used.Close()
	}
	s.free = append(s.free, used)
	return nil
}

// close ends the servers that are left.
func (s *spares) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for _, left := range s.free {
		errs = append(errs, left.Close())
	}
	s.free = nil
	return errors.Join(errs...)
}
