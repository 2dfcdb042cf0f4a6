// Package sim runs scenarios in the model: every client a process of sim/process, every server one of sim/redis, all in one goroutine
// and in virtual time. Nothing in it waits, and a cell comes out the same each time.
//
// What it writes down, and how that is judged, is as in the live world.
package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios/cells"
	"github.com/locklab/locklab/sim/redis"
)

// Config is what the cells of a run have in common.
type Config struct {
	Dir         string        // where the results go; empty: they are not kept
	CellTimeout time.Duration // after which, in virtual time, a cell is given up as unknown
	Wait        string        // how clients wait between the tries of an acquire; empty: each lock's own way
}

// World is the model as the world of one run. Its cells may run at the same time.
type World struct {
	cfg Config

	mu    sync.Mutex
	blank []*redis.Server // servers without data, which know scripts that were compiled before; each is used by one cell at a time
}

// Open makes a world.
func Open(cfg Config) *World { return &World{cfg: cfg} }

// Close ends the world.
func (w *World) Close() error { return nil }

// ServerVersion describes the servers of the cells.
func (w *World) ServerVersion() string { return "a model of Redis 7.0, in virtual time" }

// ToxiproxyVersion describes the proxies of the cells: there are none.
func (w *World) ToxiproxyVersion() string { return "" }

// base is when each cell begins by a clock that is right. It is far enough from 1970 for a clock that is set back.
func base() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// Run runs one case and judges it.
func (w *World) Run(ctx context.Context, cs cells.Case) checker.Cell {
	started := time.Now()
	out := cs.Planned()
	events, lacks, err := w.record(ctx, cs, out.Dir)
	cs.Settle(&out, events, lacks, w.cfg.Wait != "", err)
	out.Took = time.Since(started)
	return out
}

// record runs one case and returns its history, and what the script needs but does not have here. The error is a failure of the
// lab around the script.
func (w *World) record(ctx context.Context, cs cells.Case, dir string) (events []history.Event, lacks string, err error) {
	spec, found := impls.Find(cs.Subject.Name)
	if !found {
		return nil, "", fmt.Errorf("the model does not know the lock %q", cs.Subject.Name)
	}
	file, err := w.file(dir)
	if err != nil {
		return nil, "", err
	}
	c := newCell(w, cs, spec)
	c.rec, err = cells.NewRecorder(file, history.Header{
		Run: filepath.Base(w.cfg.Dir), Cell: filepath.Base(dir), Lock: cs.Subject.Name, Scenario: cs.Script.Name, Base: base(),
	}, func() time.Duration { return c.now })
	if err != nil {
		return nil, "", err
	}
	failed := c.play(ctx)
	c.end()
	if failed == nil {
		failed = c.readData()
	}
	end := cells.EndOf(failed)
	c.rec.Add(end)
	events, err = c.rec.Close()
	if end.Detail.Text == history.EndedFailed {
		err = errors.Join(failed, err)
	}
	return events, c.lacks, err
}

// take is a blank server for one cell.
func (w *World) take() *redis.Server {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := len(w.blank) - 1
	if last < 0 {
		return redis.New()
	}
	blank := w.blank[last]
	w.blank = w.blank[:last]
	return blank
}

func (w *World) giveBack(blank *redis.Server) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blank = append(w.blank, blank)
}

// file is where a cell's history goes.
func (w *World) file(dir string) (io.WriteCloser, error) {
	if w.cfg.Dir == "" {
		return nowhere{io.Discard}, nil
	}
	path := filepath.Join(w.cfg.Dir, dir)
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	return &whole{path: filepath.Join(path, cells.HistoryFile)}, nil
}

// nowhere is for histories that are not kept.
type nowhere struct{ io.Writer }

func (nowhere) Close() error { return nil }

// whole is a file that is written in one piece when it is complete: a cell takes no longer than that.
type whole struct {
	bytes.Buffer
	path string
}

func (w *whole) Close() error { return os.WriteFile(w.path, w.Bytes(), 0o644) }
