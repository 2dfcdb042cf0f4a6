package checker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
)

func TestDecide(t *testing.T) {
	double := []Anomaly{{Name: DoubleHolder, Lock: "k"}}
	what := []finding{{DoubleHolder, "k"}}
	for name, c := range map[string]struct {
		first  []Anomaly
		second opinion
		want   Verdict
	}{
		"both see nothing":   {nil, opinion{}, Verdict{Kind: Safe}},
		"both see it":        {double, opinion{illegal: what}, Verdict{Kind: Broken, Anomalies: double}},
		"out of time":        {nil, opinion{timedOut: what}, Verdict{Kind: Undecided, Reason: "porcupine ran out of time looking for double-holder of k"}},
		"seen before it ran": {double, opinion{timedOut: what}, Verdict{Kind: Broken, Anomalies: double}},
		"judged once":        {double, opinion{unjudged: what}, Verdict{Kind: Broken, Anomalies: double}},
		"only porcupine sees it": {nil, opinion{illegal: what}, Verdict{
			Kind: Undecided, CheckerFault: true,
			Reason: "the judges disagree on double-holder: porcupine finds the history of k illegal, the double-holder monitor saw nothing",
		}},
		"only the monitor sees it": {double, opinion{}, Verdict{
			Kind: Undecided, CheckerFault: true,
			Reason: "the judges disagree on double-holder: the double-holder monitor finds the history of k illegal, porcupine finds it legal",
		}},
		"they see it in different locks": {double, opinion{illegal: []finding{{DoubleHolder, "l"}}}, Verdict{
			Kind: Undecided, CheckerFault: true,
			Reason: "the judges disagree on double-holder: porcupine finds the history of l illegal, the double-holder monitor saw nothing",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, decide(c.first, c.second))
		})
	}
}

func TestTimeGoesForward(t *testing.T) {
	v := Judge([]history.Event{{At: 2, Kind: history.KindStep}, {At: 1, Kind: history.KindStep}}, Options{})
	assert.Equal(t, Verdict{Kind: Undecided, Reason: "event 1 is earlier than the one before it"}, v)
}

func TestMalformedHistories(t *testing.T) {
	call := history.Event{ID: 1, Client: "C1", Lock: "k", Kind: history.KindCall, Op: history.OpAcquire}
	assert.Equal(t, Verdict{Kind: Undecided, Reason: "event 1 calls operation 1, which is under way already"},
		Judge([]history.Event{call, call}, Options{}))
	elsewhere := call
	elsewhere.Kind, elsewhere.Lock, elsewhere.Outcome = history.KindReturn, "l", history.OK
	assert.Equal(t, Verdict{Kind: Undecided, Reason: "event 1 returns from operation 1, which was called on another lock"},
		Judge([]history.Event{call, elsewhere}, Options{}))
}

func TestNothingIsSafe(t *testing.T) {
	assert.Equal(t, Verdict{Kind: Safe}, Judge(nil, Options{}))
}

// Judging reads only, and two judgements of one history are the same.
func TestJudgeIsPure(t *testing.T) {
	events, err := readStory("testdata/overwrite-two-judge-expired.txt")
	require.NoError(t, err)
	again, err := readStory("testdata/overwrite-two-judge-expired.txt")
	require.NoError(t, err)
	assert.Equal(t, Judge(events, Options{}), Judge(events, Options{Timeout: time.Second}))
	assert.Equal(t, again, events)
}

// A large history with one double grant in its middle.
func TestOneDoubleGrantInALargeHistory(t *testing.T) {
	events := turns(30_000, true)
	require.Equal(t, Verdict{Kind: Safe}, Judge(events, Options{}))
	v := Judge(grantedTwice(events), Options{})
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
		assert.Equal(t, Verdict{Kind: Safe}, Judge(events, Options{}), name)
	}
}
