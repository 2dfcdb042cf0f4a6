package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/locklab/locklab/faults/server"
)

// spares are servers of the lab's own that cells have done with, each as good as new. To start one takes a fifth of the time that a
// cell's beginning takes, and cells begin one after another.
type spares struct {
	mu      sync.Mutex
	free    []*spare
	started int
	closed  bool
}

// spare is a server of the lab's own, and the file in which it logs, if it does.
type spare struct {
	server.Server
	log string
}

// linkLog has the log found at a path, too.
func (s *spare) linkLog(path string) error {
	if s.log == "" {
		return nil
	}
	target, err := filepath.Rel(filepath.Dir(path), s.log)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of a beginning that the machine has spoilt
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

// nextLog is the file for the log of one more server.
func (s *spares) nextLog(dir string) (string, error) {
	s.mu.Lock()
	s.started++
	n := s.started
	s.mu.Unlock()
	dir = filepath.Join(dir, "servers")
	return filepath.Join(dir, fmt.Sprintf("%d.log", n)), os.MkdirAll(dir, 0o755)
}

// putBack makes a server as good as new for the next cell. One that cannot be is closed.
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

// close ends those that are left.
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
