//go:build linux || darwin

package live_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/internal/faults/server/zookeeper"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/live"
)

// TestEnsemble: a script addresses the servers of an ensemble, and a session lasts from one to the next.
func TestEnsemble(t *testing.T) {
	needs.Long(t, "three ZooKeepers")
	needs.Found(t, "zookeeper", zookeeper.Find)
	s := openStage(t, func(cfg *live.Config) { cfg.Server = live.Ensemble })
	cell, events := s.playScript(t, script(t, "ensemble", `
		lease 60s
		clients C1 C2
		servers 3
		needs ensemble
		C2 refuse S1
		C1 acquire => ok
		S3 is cut off
		C2 acquire => no
		C2 heal
		S3 rejoins
		S1 goes down
		C2 acquire => no
		C1 release => ok
		C2 acquire => ok
		S1 comes back
		C2 release => ok`), subject(t, "zookeeper-protected"))
	assert.Equal(t, "safe", cell.Verdict.String(), "%+v", cell.Verdict)
	tells(t, events, "C2 refuse: effective", "C1 acquire: ok", "S3 isolated: effective", "C2 acquire: no", "S3 isolated: recover", "S1 down: effective", "C2 acquire: no",
		"C1 release: ok", "C2 acquire: ok", "S1 down: recover", "C2 release: ok", "end: complete")
	faultsAreEvident(t, events)
}
