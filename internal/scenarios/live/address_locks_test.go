//go:build linux || darwin

package live_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// TestLocksOfTheLabPassAtAnAddress: no command or script of the lab's own locks is refused, nor of the work that clients do under them.
func TestLocksOfTheLabPassAtAnAddress(t *testing.T) {
	at := theirRedis(t)
	s := openStage(t, func(cfg *live.Config) { cfg.Server = at.Addr() })
	workloads := []string{"ledger", "counter", "stock", "flash-sale-store"}
	workloads = workloads[:needs.Count(t, "workloads", 1, len(workloads))]
	for _, spec := range impls.All() {
		for _, workload := range workloads {
			t.Run(spec.Name+" "+workload, func(t *testing.T) {
				t.Parallel()
				cell, _ := s.playScript(t, script(t, "turns "+spec.Name+" "+workload, "workload "+workload+twoTurns+"\n"), play.SubjectOf(spec))
				assert.NotContains(t, cell.Verdict.String(), "the lab refuses")
				if cell.Verdict.Kind == checker.NotApplicable {
					t.Skip(cell.Verdict.Reason)
				}
				assert.Equal(t, checker.Safe, cell.Verdict.Kind, cell.Verdict.String())
			})
		}
	}
}
