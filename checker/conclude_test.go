package checker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
)

// Where the server was not asked about a command that may have changed the lock, seeing nothing bad does not make it safe.
func TestNotAsked(t *testing.T) {
	end := history.Event{At: 100, Kind: history.KindEnd, Detail: &history.Detail{Text: history.EndedComplete}}
	sent := func(reply string, args ...string) []history.Event {
		return []history.Event{
			{At: 10, Kind: history.KindCall, Client: "C1", Lock: "k", Op: history.OpAcquire, ID: 1},
			{At: 10, Kind: history.KindCommand, Client: "C1", Lock: "k", Op: history.OpAcquire, ID: 1,
				Detail: &history.Detail{Command: &history.Command{Server: "redis", Args: args, Reply: reply}}},
			{At: 11, Kind: history.KindReturn, Client: "C1", Lock: "k", Op: history.OpAcquire, ID: 1, Outcome: history.OK}, end,
		}
	}
	one := Verdict{Kind: Undecided,
		Reason: "there was no state probe around one command, so only the clients' results could be judged"}
	require.Equal(t, one, Conclude(sent("OK", "SET", "k", "a"), Options{Twice: true}))
	require.Equal(t, one, Conclude(sent("", "SET", "k", "a"), Options{Twice: true}), "the connection ended")
	require.Equal(t, one, Conclude(sent("-ERR halfway", "EVALSHA", "1", "k"), Options{Twice: true}))
	for _, harmless := range [][]string{
		{"a", "GET", "k"}, {"QUEUED", "SET", "k", "a"}, {"-NOSCRIPT No matching script.", "EVALSHA", "1", "k"}, {"-ERR syntax error", "SET", "k"},
	} {
		require.Equal(t, Verdict{Kind: Safe}, Conclude(sent(harmless[0], harmless[1:]...), Options{Twice: true}), "%v", harmless)
	}
	replaced := sent("OK", "SET", "k", "a")
	replaced[1].Detail.Command.Server = history.OldPrimary
	require.Equal(t, Verdict{Kind: Safe}, Conclude(replaced, Options{Twice: true}), "what a server has that was replaced does not matter")

	other := sent("OK", "SET", "k", "b")
	for n := range other[:3] {
		other[n].Client, other[n].ID, other[n].At = "C2", 2, 20
	}
	verdict := Conclude(append(sent("OK", "SET", "k", "a")[:3:3], other...), Options{Twice: true})
	require.Equal(t, []Name{DoubleHolder}, verdict.Names())
}

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
	require.Equal(t, Verdict{Kind: Undecided, Reason: "line 9 came to ok"}, Conclude(one, Options{Twice: true}))

	two := append(append(told(10, "C1", 1), told(20, "C2", 2)...), end)
	verdict := Conclude(two, Options{Twice: true})
	require.Equal(t, Broken, verdict.Kind)
	require.Equal(t, []Name{DoubleHolder}, verdict.Names())

	stalled := append(two[:4:4], history.Event{At: 100, Kind: history.KindEnd, Detail: &history.Detail{Text: history.EndedStalled, Why: "stalled"}})
	require.Equal(t, Verdict{Kind: Undecided, Reason: "stalled"}, Conclude(stalled, Options{Twice: true}))
}
