package checker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker/internal/overlap"
	"github.com/locklab/locklab/history"
)

func TestDecide(t *testing.T) {
	double := []Anomaly{{Name: DoubleHolder, Lock: "k"}}
	what := []overlap.Finding{{Name: "double-holder", Lock: "k"}}
	assert.Equal(t, Verdict{Kind: Broken, Anomalies: double}, decide(double, overlap.Opinion{Judged: []string{"lost-update"}}), "porcupine did not judge that")
	for name, c := range map[string]struct {
		first  []Anomaly
		second overlap.Opinion
		want   Verdict
	}{
		"both see nothing":   {nil, overlap.Opinion{}, Verdict{Kind: Safe}},
		"both see it":        {double, overlap.Opinion{Illegal: what}, Verdict{Kind: Broken, Anomalies: double}},
		"out of time":        {nil, overlap.Opinion{TimedOut: what}, Verdict{Kind: Undecided, Reason: "porcupine ran out of time looking for double-holder of k"}},
		"seen before it ran": {double, overlap.Opinion{TimedOut: what}, Verdict{Kind: Broken, Anomalies: double}},
		"judged once":        {double, overlap.Opinion{Unjudged: what}, Verdict{Kind: Broken, Anomalies: double}},
		"only porcupine sees it": {nil, overlap.Opinion{Illegal: what}, Verdict{
			Kind: Undecided, CheckerFault: true,
			Reason: "the judges disagree on double-holder: porcupine finds the history of k illegal, the double-holder monitor saw nothing",
		}},
		"only the monitor sees it": {double, overlap.Opinion{}, Verdict{
			Kind: Undecided, CheckerFault: true,
			Reason: "the judges disagree on double-holder: the double-holder monitor finds the history of k illegal, porcupine finds it legal",
		}},
		"they see it in different locks": {double, overlap.Opinion{Illegal: []overlap.Finding{{Name: "double-holder", Lock: "l"}}}, Verdict{
			Kind: Undecided, CheckerFault: true,
			Reason: "the judges disagree on double-holder: porcupine finds the history of l illegal, the double-holder monitor saw nothing",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c.second.Judged = []string{"double-holder"}
			assert.Equal(t, c.want, decide(c.first, c.second))
		})
	}
}

func TestTimeGoesForward(t *testing.T) {
	v := Judge([]history.Event{{At: 2, Kind: history.KindStep}, {At: 1, Kind: history.KindStep}}, Options{Twice: true})
	assert.Equal(t, Verdict{Kind: Undecided, Reason: "event 1 is earlier than the one before it"}, v)
}

func TestMalformedHistories(t *testing.T) {
	call := history.Event{ID: 1, Client: "C1", Lock: "k", Kind: history.KindCall, Op: history.OpAcquire}
	assert.Equal(t, Verdict{Kind: Undecided, Reason: "event 1 calls operation 1, which is under way already"},
		Judge([]history.Event{call, call}, Options{Twice: true}))
	elsewhere := call
	elsewhere.Kind, elsewhere.Lock, elsewhere.Outcome = history.KindReturn, "l", history.OK
	assert.Equal(t, Verdict{Kind: Undecided, Reason: "event 1 returns from operation 1, which was called on another lock"},
		Judge([]history.Event{call, elsewhere}, Options{Twice: true}))
}

func TestNothingIsSafe(t *testing.T) {
	assert.Equal(t, Verdict{Kind: Safe}, Judge(nil, Options{Twice: true}))
}

// Judging reads only, and two judgements of one history are the same.
func TestJudgeIsPure(t *testing.T) {
	events, err := readStory("testdata/overwrite-two-judge-expired.txt")
	require.NoError(t, err)
	again, err := readStory("testdata/overwrite-two-judge-expired.txt")
	require.NoError(t, err)
	assert.Equal(t, Judge(events, Options{Twice: true}), Judge(events, Options{Timeout: time.Second, Twice: true}))
	assert.Equal(t, again, events)
}

// A large history with one double grant in its middle.
func TestOneDoubleGrantInALargeHistory(t *testing.T) {
	events := turns(30_000, true)
	require.Equal(t, Verdict{Kind: Safe}, Judge(events, Options{Twice: true}))
	v := Judge(grantedTwice(events), Options{Twice: true})
	require.Equal(t, []Name{DoubleHolder}, v.Names())
	require.Len(t, v.Anomalies, 1)
}

// Events that name no client or no lock are nobody's holds, for either judge.
func TestEventsWithoutClientOrLock(t *testing.T) {
	for name, forget := range map[string]func(*history.Event){
		"no lock":   func(e *history.Event) { e.Lock = "" },
		"no client": func(e *history.Event) { e.Client = "" },
		"neither":   func(e *history.Event) { e.Client, e.Lock = "", "" },
	} {
		var events []history.Event
		for n, client := range []string{"C1", "C2"} {
			e := history.Event{At: time.Duration(2 * n), Kind: history.KindCall, Client: client, Lock: "k", Op: history.OpAcquire, ID: int64(n + 1)}
			forget(&e)
			back := e
			back.At, back.Kind, back.Outcome = e.At+1, history.KindReturn, history.OK
			events = append(events, e, back)
		}
		assert.Equal(t, Verdict{Kind: Safe}, Judge(events, Options{Twice: true}), name)
	}
}
