//go:build linux || darwin

package live_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
)

const oneTurn = "lease 60s\nclients C1\nC1 acquire => ok\nC1 work => ok\nC1 release => ok"

// TestAnImproperEndCounts: a client that breaks the protocol, or exits, after its last operation gets no verdict, also when it is only to be
// reset.
func TestAnImproperEndCounts(t *testing.T) {
	s := openStage(t, nil)
	for quirk, reason := range map[string]string{
		"babble reset":              `C1: client wrote a line that is no protocol message: "Traceback: nonsense"`,
		"die reset":                 `C1: client exited before replying: exit status 1; stderr: the odd client dies at reset`,
		"refuse reset, babble exit": `C1: client wrote a line that is no protocol message: "Traceback: nonsense"`,
		"refuse reset, die exit":    `C1: client exited before replying: exit status 1; stderr: the odd client dies at exit`,
	} {
		cell := s.Run(t.Context(), lab.Case{Subject: foreign("setpx-lua", quirk), Script: script(t, quirk, oneTurn), Round: 1})
		assert.Equal(t, checker.Undecided, cell.Verdict.Kind, quirk)
		assert.Regexp(t, reason, cell.Verdict.Reason)
	}
}

// TestMandatoryVerbs: a client that does not know what every client must know is at fault; the cell is not n/a.
func TestMandatoryVerbs(t *testing.T) {
	s := openStage(t, nil)
	cell := s.Run(t.Context(), lab.Case{Subject: foreign("setpx-lua", "refuse acquire"), Script: script(t, "refuse", oneTurn), Round: 1})
	assert.Equal(t, `unknown: C1 does not know "acquire", which every client must`, cell.Verdict.String())
}

// TestStandardErrorIsBounded: a client may write there what it likes, but it does not fill the disk.
func TestStandardErrorIsBounded(t *testing.T) {
	s := openStage(t, nil)
	cell := s.Run(t.Context(), lab.Case{Subject: foreign("setpx-lua", "flood work"), Script: script(t, "flood", oneTurn), Round: 1})
	require.Equal(t, checker.Safe, cell.Verdict.Kind, cell.Verdict.String())
	info, err := os.Stat(filepath.Join(s.dir, cell.Dir, "C1.stderr"))
	require.NoError(t, err)
	require.EqualValues(t, 1<<20, info.Size())
}

// TestNobodyBeginsWorkAfterALoss: a client that was told that its lock is lost, and is sent to work all the same, would be accused of
// what the script did.
func TestNobodyBeginsWorkAfterALoss(t *testing.T) {
	needs.Long(t, "waits for leases to end")
	t.Parallel()
	s := openStage(t, nil)
	cell := s.Run(t.Context(), lab.Case{Subject: subject(t, "watchdog"), Round: 1, Script: script(t, "loss",
		"lease 2s\nclients C1 C2\nC1 acquire => ok\nC1 cut off\nwait until expired => expired\nC2 acquire within 2 leases => ok\nC2 crash\nwait until expired => expired\nC1 heal\nC1 work")})
	events := s.history(t, cell)
	require.Equal(t, checker.Safe, cell.Verdict.Kind, cell.Verdict.String())
	for _, e := range events {
		if e.Client == "C1" {
			require.NotEqual(t, history.OpWork, e.Op, "C1 worked though it had been told of its loss")
		}
	}
}

// TestNothingHappenedToALockThatIsNotThere: what waits for, or ends, a lease needs a lease.
func TestNothingHappenedToALockThatIsNotThere(t *testing.T) {
	s := openStage(t, nil)
	for text, reason := range map[string]string{
		"lease 1s\nclients C1\nwait until expired\nC1 acquire":                                   "nothing that anybody did has reached the lock's key",
		"lease 60s\nclients C1\nC1 acquire => ok\nC1 release => ok\nserver clock jumps 2 leases": "there is no lock on the server",
	} {
		cell := s.Run(t.Context(), lab.Case{Subject: subject(t, "setpx-lua"), Script: script(t, "none", text), Round: 1})
		assert.Equal(t, checker.Undecided, cell.Verdict.Kind, cell.Verdict.String())
		assert.Contains(t, cell.Verdict.Reason, reason)
	}
}
