package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/scenarios/cells"
)

// newRecord is what run.json says before the first cell.
func (f *runFlags) newRecord(cases []cells.Case) *checker.Run {
	now := time.Now()
	id := fmt.Sprintf("%s-%04x", now.Format("20060102-150405"), rand.N(1<<16))
	dir := f.out
	if dir == "" {
		dir = filepath.Join("runs", id)
	}
	run := &checker.Run{
		ID: id, Started: now, Seed: f.seed, World: f.world, Lab: version(), Dir: dir, Command: os.Args[1:],
		Platform: fmt.Sprintf("%s/%s, %s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.Version(), runtime.NumCPU()),
	}
	for _, c := range cases {
		run.Cells = append(run.Cells, c.Planned())
	}
	return run
}

// results is the directory of a run.
type results struct {
	dir  string
	made []string // directories that were not there before, the innermost first
}

// makeResults makes the directory, and refuses one that holds a run.
func makeResults(dir string) (*results, error) {
	if _, err := os.Stat(filepath.Join(dir, "run.json")); err == nil {
		return nil, usagef("--out %s: it holds the results of another run; name another directory", dir)
	}
	r := &results{dir: dir}
	for up := filepath.Clean(dir); ; up = filepath.Dir(up) {
		if _, err := os.Stat(up); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		r.made = append(r.made, up)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, usagef("--out: %v", plainly(err))
	}
	return r, nil
}

// discard removes what a run that never began has left: its own directory with all that is in it, and those above it that were
// made for it, unless somebody else uses them by now.
func (r *results) discard() error {
	if len(r.made) == 0 {
		return nil
	}
	err := os.RemoveAll(r.dir)
	for _, dir := range r.made[1:] {
		_ = os.Remove(dir)
	}
	return err
}

// pointLatest lets runs/latest name the newest run.
func pointLatest(run *checker.Run, wanted bool) error {
	if !wanted {
		return nil
	}
	link := filepath.Join(filepath.Dir(run.Dir), "latest")
	next := link + "." + run.ID // of its own, because another lab may be at it as well
	if err := os.Symlink(filepath.Base(run.Dir), next); err != nil {
		return err
	}
	return os.Rename(next, link)
}
