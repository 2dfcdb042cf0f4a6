// Package sim is the model world: every client a process of internal/sim/process, every server one of internal/sim/redis or internal/sim/zookeeper, all in one goroutine and in
// virtual time. Nothing in it waits, and a cell comes out the same each time. In a Bubble the clients are goroutines of a library instead, which
// reach the same servers over the same links, by a net.Conn or in-process.
//
// It owns virtual time and the messages on their way, and the effects that package play orders. It writes the history that the live
// world would write. It must not know the order of a script's steps, a verdict or package testing.
package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/faults/commands"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/sim/redis"
	"github.com/locklab/locklab/scenarios"
)

// Config is what the cells of a run have in common.
type Config struct {
	CellTimeout time.Duration // after which, in virtual time, a cell is given up as unknown
	Wait        string        // how clients wait between the tries of an acquire; empty: each lock's own way
}

// World is the model as the world of one run. Its cells may run at the same time.
type World struct {
	cfg   Config
	table commands.Table

	mu    sync.Mutex
	blank []*redis.Server // servers without data, which know scripts that were compiled before; each is used by one cell at a time
}

// Open makes a world.
func Open(cfg Config) *World { return &World{cfg: cfg, table: commands.NewTable()} }

// Close ends the world.
func (w *World) Close() error { return nil }

// ServerVersion describes the servers of the cells.
func (w *World) ServerVersion() string { return "models of Redis 7.0 and ZooKeeper, in virtual time" }

// ToxiproxyVersion describes the proxies of the cells: there are none.
func (w *World) ToxiproxyVersion() string { return "" }

// base is when each cell begins by a clock that is right. It is far enough from 1970 for a clock that is set back.
func base() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// Play plays a script with a subject. It returns the history, and what the script needs but does not have here. The error is a failure
// of the lab around the script. Nothing is written: dir is for worlds that write as they go.
func (w *World) Play(ctx context.Context, subject play.Subject, script *scenarios.Script, dir string) (out play.Played, err error) {
	if subject.Spec == nil || subject.Argv != nil {
		return out, fmt.Errorf("%s is a client program, and the model runs none", subject.Name)
	}
	out.Header = history.Header{Lock: subject.Name, Scenario: script.Name, Base: base()}
	c := newModelCell(w, subject, script)
	c.run.Record = play.NewRecorder(c.Now)
	err = c.record(ctx, &out)
	return out, err
}

// record plays the cell, and completes its history.
func (c *cell) record(ctx context.Context, out *play.Played) error {
	failed := c.play(ctx)
	c.end()
	if failed == nil {
		failed = c.run.ReadData(ctx)
	}
	if failed != nil && ctx.Err() != nil {
		failed = play.Interrupted("interrupted")
	}
	end := play.EndOf(failed)
	c.run.Record.Add(end)
	var err error
	out.Events, err = c.run.Record.Close()
	if end.Detail.Text == history.EndedFailed {
		err = errors.Join(failed, err)
	}
	return err
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
