package explore

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/terminal"
	"github.com/locklab/locklab/internal/scenarios/reproduce"
	"github.com/locklab/locklab/internal/sim/trace"
)

// Whoever replays is told at once what went wrong, and in the end how often all went well.
func TestReplayScreen(t *testing.T) {
	lock, _ := impls.Find("getset")
	shown := checker.Verdict{Kind: checker.Broken, Anomalies: []checker.Anomaly{{Name: checker.Overwrite}}}
	tests := map[string]struct {
		plays       []record.Cell
		interrupted bool
		code        int
		out, err    string
	}{
		"all shown": {
			plays: []record.Cell{{Verdict: shown}, {Verdict: shown}}, code: cli.CodeExpected,
			out: "getset                   crash          2/2 on embedded show [overwrite]\n1 counterexample replayed, 1 shown every time\n",
		},
		"another verdict": {
			plays: []record.Cell{{Verdict: shown}, {Verdict: checker.Verdict{Kind: checker.Safe}}}, code: cli.CodeSurprise,
			out: "getset                   crash          1/2 on embedded show [overwrite]\n1 counterexample replayed, 0 shown every time\n",
			err: "lab: getset after crash, play 2 of 2: safe\n",
		},
		"a host stall": {
			plays: []record.Cell{{Verdict: checker.Verdict{Kind: checker.Undecided, Reason: "the machine stalled"}}, {Verdict: shown}},
			code:  cli.CodeUnknown,
			out:   "getset                   crash          1/2 on embedded show [overwrite]\n1 counterexample replayed, 0 shown every time\n",
			err:   "lab: getset after crash, play 1 of 2: unknown: the machine stalled\n",
		},
		"the lab failed": {
			plays: []record.Cell{{Failure: "no server", Verdict: checker.Verdict{Kind: checker.Undecided}}, {Verdict: shown}}, code: cli.CodeFailed,
			out: "getset                   crash          1/2 on embedded show [overwrite]\n1 counterexample replayed, 0 shown every time\n",
			err: "lab: getset after crash, play 1 of 2: no server\n",
		},
		"interrupted": {
			plays: []record.Cell{{Verdict: shown}}, interrupted: true, code: cli.CodeUnknown,
			out: "getset                   crash          1/1 on embedded show [overwrite]\n1 counterexample replayed, 0 shown every time\n",
			err: "lab: not complete: 1 of 2 plays have ended\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out, err bytes.Buffer
			s := &replayScreen{
				out: &out, err: &err, where: "embedded", width: format.UsualWidth, count: 2, of: 2, meter: terminal.NewMeter(&err, terminal.Options{}, true),
			}
			replay := &lab.Replay{Counterexample: reproduce.Counterexample{
				Lock: lock, Faults: "crash", Trace: &trace.Trace{Anomalies: []checker.Name{checker.Overwrite}},
			}}
			for _, cell := range test.plays {
				played := lab.Played{Replay: replay, Cell: cell}
				played.Why, played.Shown = replay.Counterexample.Shown(cell)
				replay.Played++
				if played.Shown {
					replay.Shown++
				}
				s.played(played)
			}
			assert.Equal(t, test.code, s.close([]*lab.Replay{replay}, test.interrupted))
			assert.Equal(t, test.out, out.String())
			assert.Equal(t, test.err, err.String())
		})
	}
}

func TestReplaysOfOthersMoveNoCursor(t *testing.T) {
	var out, stderr strings.Builder
	screen := &replayScreen{out: &out, err: &stderr, count: 1, of: 1, meter: terminal.NewMeter(&stderr, terminal.Options{}, true)}
	screen.played(lab.Played{Replay: &lab.Replay{Counterexample: reproduce.Counterexample{}}, Cell: record.Cell{Failure: "ERR \x1b[31mred"}})
	assert.NotContains(t, stderr.String(), "\x1b")
	assert.Contains(t, stderr.String(), `ERR \x1b[31mred`)
}
