package play

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/scenarios"
)

// slowHost is a Stage whose host did not stall. Nothing else of it is used.
type slowHost struct{ Stage }

func (slowHost) Now() time.Duration                       { return 0 }
func (slowHost) LongestStall(time.Duration) time.Duration { return 0 }

// TestSlowCommandsSpoilACell: a renewal in the background times out on a host on which a command takes so long, though no step of the
// script does.
func TestSlowCommandsSpoilACell(t *testing.T) {
	for _, tc := range []struct {
		name string
		took time.Duration
		why  string
	}{
		{"in time", 250 * time.Millisecond, ""},
		{"too slow", 251 * time.Millisecond, "the host was slow: a command took 251ms, more than an eighth of the lease"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			record := NewRecorder(func() time.Duration { return 0 })
			for _, took := range []time.Duration{time.Millisecond, tc.took, time.Millisecond} {
				record.Add(history.Event{Kind: history.KindCommand, Client: "C1", Detail: &history.Detail{
					Command: &history.Command{Args: []string{"EVAL"}, Asked: took},
				}})
			}
			cell := &Cell{Stage: slowHost{}, Script: &scenarios.Script{Lease: 2 * time.Second}, Record: record}
			err := cell.Play(t.Context())
			if tc.why == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.why)
		})
	}
}
