package explore

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/terminal"
)

// replayScreen shows how counterexamples come out: at once a play that did not show what it should, and in the end each counterexample.
type replayScreen struct {
	out, err io.Writer
	where    string
	count    int // plays of each
	of       int // plays of all
	plays    int
	width    int
	meter    *terminal.Meter
	began    time.Time
	code     int
}

// played takes in the end of a play.
func (s *replayScreen) played(p lab.Played) {
	s.plays++
	if !p.Shown {
		s.meter.Clear()
		s.worse(failedPlay(p.Cell))
		fmt.Fprintf(s.err, "lab: %s after %s, play %d of %d: %s\n", p.Lock.Name, p.Faults, p.Replay.Played, s.count, format.Clean(cmp.Or(p.Cell.Failure, p.Why)))
	}
	took := time.Since(s.began)
	s.meter.Show(took, fmt.Sprintf("played %d/%d, %v", s.plays, s.of, took.Round(time.Second)))
}

// entry says in one entry of a table what came of a counterexample.
func (s *replayScreen) entry(r *lab.Replay, format string, args ...any) {
	io.WriteString(s.out, cli.Hang(fmt.Sprintf("%-24s %-14s ", r.Lock.Name, r.Faults), strings.Repeat(" ", 40), fmt.Sprintf(format, args...), s.width))
}

func (s *replayScreen) worse(code int) {
	s.code = int(lab.Worse(lab.Outcome(s.code), lab.Outcome(code)))
}

// close sums up.
func (s *replayScreen) close(replays []*lab.Replay, interrupted bool) (code int) {
	always, played := 0, 0
	for _, r := range replays {
		if r.Err != nil {
			s.entry(r, "not replayed: %v", r.Err)
			if !errors.Is(r.Err, lab.ErrLongWait) {
				s.worse(cli.CodeSurprise)
			}
			continue
		}
		s.entry(r, "%d/%d on %s show %v", r.Shown, r.Played, s.where, r.Trace.Anomalies)
		played++
		if r.Shown == s.count {
			always++
		}
	}
	if played == 0 && len(replays) > 0 {
		s.worse(cli.CodeUnknown)
	}
	what := "counterexamples"
	if played == 1 {
		what = "counterexample"
	}
	fmt.Fprintf(s.out, "%d %s replayed, %d shown every time\n", played, what, always)
	if interrupted {
		fmt.Fprintf(s.err, "lab: not complete: %d of %d plays have ended\n", s.plays, s.of)
		return cli.CodeUnknown
	}
	return s.code
}
