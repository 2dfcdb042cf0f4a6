package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/locklab/locklab/internal/faults/server"
)

// Spares are the lab's own servers that no cell uses, each reset. To start a server takes a fifth of a cell's set-up, and few cells may set
// up at a time.
type Spares struct {
	mu      sync.Mutex
	free    []*Spare
	started int
	closed  bool
}

// Spare is one of the lab's own servers, with its log file, if any.
type Spare struct {
	server.Server
	Log string
}

// LinkLog makes the log available at a path.
func (s *Spare) LinkLog(path string) error {
	if s.Log == "" {
		return nil
	}
	target, err := filepath.Rel(filepath.Dir(path), s.Log)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // left by an attempt that a host stall ended
		return err
	}
	return os.Symlink(target, path)
}

// Take hands out a spare, or nil.
func (s *Spares) Take() *Spare {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == 0 {
		return nil
	}
	last := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	return last
}

// NextLog is the log file of the next server.
func (s *Spares) NextLog(dir string) (string, error) {
	s.mu.Lock()
	s.started++
	n := s.started
	s.mu.Unlock()
	dir = filepath.Join(dir, "servers")
	return filepath.Join(dir, fmt.Sprintf("%d.log", n)), os.MkdirAll(dir, 0o755)
}

// PutBack resets a server for the next cell, or closes it if that fails.
func (s *Spares) PutBack(used *Spare) error {
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

// Close ends the servers that are left.
func (s *Spares) Close() error {
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
