package playground

import (
	"context"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/sim"
	"github.com/locklab/locklab/scenarios"
)

// Play plays a script with a lock, as lab run --world sim does. The error is a scenarios.Errors if it is of the script.
func Play(ctx context.Context, name, text string) (*Cell, error) {
	lock, err := find(name)
	if err != nil {
		return nil, err
	}
	script, err := scenarios.Parse("playground.lab", []byte(text))
	if err != nil {
		return nil, err
	}
	world := sim.Open(sim.Config{CellTimeout: time.Minute}) // of virtual time, as lab run has it
	played, err := world.Play(ctx, play.SubjectOf(lock), script, "")
	if err != nil {
		return nil, err
	}
	return newCell(played.Events, played.Events, checker.Conclude(played.Events, checker.Options{})), world.Close()
}
