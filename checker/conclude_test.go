package checker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
)

// TestPremiseMissed: a script that went another way shows nothing good of a lock, but what it shows that is bad counts.
func TestPremiseMissed(t *testing.T) {
	told := func(at time.Duration, client string, id int64) []history.Event {
		return []history.Event{
			{At: at, Kind: history.KindCall, Client: client, Lock: "k", Op: history.OpAcquire, ID: id},
			{At: at + 1, Kind: history.KindReturn, Client: client, Lock: "k", Op: history.OpAcquire, ID: id, Outcome: history.OK},
		}
	}
	end := history.Event{At: 100, Kind: history.KindEnd, Detail: &history.Detail{Text: history.EndedPremise, Why: "line 9 came to ok"}}

	one := append(told(10, "C1", 1), end)
	require.Equal(t, Verdict{Kind: Undecided, Reason: "line 9 came to ok"}, Conclude(one, Options{}))

	two := append(append(told(10, "C1", 1), told(20, "C2", 2)...), end)
	verdict := Conclude(two, Options{})
	require.Equal(t, Broken, verdict.Kind)
	require.Equal(t, []Name{DoubleHolder}, verdict.Names())

	stalled := append(two[:4:4], history.Event{At: 100, Kind: history.KindEnd, Detail: &history.Detail{Text: history.EndedUnknown, Why: "stalled"}})
	require.Equal(t, Verdict{Kind: Undecided, Reason: "stalled"}, Conclude(stalled, Options{}))
}
