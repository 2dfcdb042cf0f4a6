package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// greeting is the script of Greet: its client is started and says hello, and no more.
const greeting = "hello"

// greetTime is how long a client may take to start and to say hello: a Java program takes some seconds.
const greetTime = 30 * time.Second

// ClientError says why a foreign client could not be used at all.
type ClientError struct{ Why string }

func (e *ClientError) Error() string { return "the client cannot be used: " + e.Why }

// Greet starts a foreign client once, before any cell, and completes its subject by its hello. Whether its clock can be set is found out if one of the
// scripts that it will play sets clocks, or none is named: a shim is compiled for that. The error is a *ClientError if the client is to blame.
func (w *World) Greet(ctx context.Context, subject play.Subject, scripts ...*scenarios.Script) (_ play.Subject, err error) {
	script := &scenarios.Script{Name: greeting, Lease: greetTime, Clients: []string{"C1"}}
	dir := filepath.Join(w.cfg.Dir, greeting)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return subject, err
	}
	if err := w.awaitTurn(ctx); err != nil {
		return subject, err
	}
	w.serves(&subject.Traits)
	c := w.newCell(subject, script, script.Clients, dir)
	c.run.Record = play.NewRecorder(c.stage.Now)
	c.clocks = len(scripts) == 0 || slices.ContainsFunc(scripts, setsClocks)
	bound := min(w.cfg.CellTimeout, greetTime)
	ctx, cancel := context.WithTimeoutCause(ctx, bound, fmt.Errorf("it had %v", bound))
	defer cancel()
	ctx, c.spoil = context.WithCancelCause(ctx)
	defer c.spoil(nil)

	p := c.peers[script.Clients[0]]
	failed := c.startStage(ctx)
	w.passTurn()
	if failed == nil {
		failed = p.start(ctx)
	}
	if failed == nil {
		failed = p.tellKeys(ctx)
	}
	c.run.End()
	c.stopClients()
	if err := errors.Join(asClientError(failed), c.close()); err != nil {
		return subject, err
	}
	subject, err = subject.Introduced(p.hello)
	w.serves(&subject.Traits)
	subject.Traits.NoClock = p.noClock
	if err != nil {
		err = &ClientError{err.Error()}
	}
	return subject, err
}

// tellKeys has a client whose lock is on several servers open it, and refuses one that names several keys there.
func (p *peer) tellKeys(ctx context.Context) error {
	subject, err := p.cell.subject.Introduced(p.hello)
	if err != nil || subject.Traits.Servers < 2 {
		return nil // what is wrong with its hello is told later
	}
	h := p.client.Handles[0]
	if err := p.open(ctx, h); err != nil {
		return err
	}
	if h.Keys > 1 {
		return play.Undecided("%s %v", h.Name, errKeysOnServers)
	}
	return nil
}

// asClientError is what an error of the greeting means for whoever named the client.
func asClientError(err error) error {
	var early *play.Ending
	if errors.As(err, &early) {
		return &ClientError{early.Why}
	}
	return err
}
