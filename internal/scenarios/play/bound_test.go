package play

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// What had befallen a process that is dead delays nobody, and what befell another one does.
func TestFaultsEndWithTheirProcess(t *testing.T) {
	var e effects
	e.note(faults.HoldReply, "C1", history.PhaseEffective)
	e.note(faults.Partition, "C1.b", history.PhaseEffective)
	e.note(faults.Pause, "C2", history.PhaseEffective)
	e.note(faults.Crash, "C1", history.PhaseEffective)
	assert.False(t, e.none())
	e.note(faults.Pause, "C2", history.PhaseRecover)
	assert.True(t, e.none())
}
