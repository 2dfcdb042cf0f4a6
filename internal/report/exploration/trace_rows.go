package exploration

import (
	"slices"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/trace"
)

// traceRow is one row of a trace: what one client, one server or time did, and what was so after it.
type traceRow struct {
	at     time.Duration
	client int // negative: no client's
	server int // of a server's fault; negative: none
	text   string
	fault  bool
	first  int // index of the first step in it
	last   int // and of the last one
	after  trace.State
	open   bool // a request that its client has had no answer to
}

// everyStep has a row for each step.
func everyStep(t *trace.Trace) []traceRow {
	var rows []traceRow
	for i, s := range t.Steps {
		rows = append(rows, newTraceRow(t, i, s))
	}
	return rows
}

// newTraceRow is a step as a row of its own.
func newTraceRow(t *trace.Trace, i int, s trace.Step) traceRow {
	r := traceRow{
		at: s.At + trace.Start, client: s.Client, server: -1, text: StepText(t, s), fault: s.Kind == trace.Fault, first: i, last: i, after: s.After,
		open: s.Kind == trace.Serve && !s.Beside,
	}
	if r.fault && s.Client < 0 {
		r.server = s.Server
	}
	return r
}

// traceRows are the steps of a trace, several to a row: a call with its first request, a reply with what the client concludes from it,
// and a refusal with the request that was refused. No other client can tell the difference.
func traceRows(t *trace.Trace) []traceRow {
	var rows []traceRow
	called := map[int]int{} // by client: the step of a call that has no row yet
	for i, s := range t.Steps {
		text := StepText(t, s)
		switch s.Kind {
		case trace.Call:
			called[s.Client] = i
			continue
		case trace.Reply, trace.Wake:
			continue
		case trace.Return:
			if at := refusedBy(rows, s); at >= 0 {
				rows[at].text += ", " + text
				continue
			}
			if n := len(rows) - 1; n >= 0 && rows[n].open && rows[n].client == s.Client {
				rows[n].text, rows[n].last, rows[n].after.Holds, rows[n].open = rows[n].text+", "+text, i, s.After.Holds, false
				continue
			}
		}
		r := newTraceRow(t, i, s)
		if s.Kind == trace.Fault && (s.Fault == faults.Pause || s.Fault == faults.LongHold) && len(rows) > 0 {
			r.after = rows[len(rows)-1].after // the time that passes comes next
		}
		if from, ok := called[s.Client]; ok && s.Kind == trace.Serve && s.Op == t.Steps[from].Op && !s.Beside {
			r.text, r.first = s.Op.String()+": "+r.text, from
			delete(called, s.Client)
		}
		rows = append(rows, r)
	}
	return rows
}

// refusedBy is the row with the request after which an acquire was refused; negative: it was not, or more came between.
func refusedBy(rows []traceRow, s trace.Step) int {
	if s.Op != history.OpAcquire || s.Answer.Outcome != history.No {
		return -1
	}
	for i, r := range slices.Backward(rows) {
		if r.client != s.Client {
			continue
		}
		if r.open && slices.Equal(r.after.Holds, s.After.Holds) {
			return i
		}
		return -1
	}
	return -1
}

// TraceRows is how many rows a trace has.
func TraceRows(t *trace.Trace) int { return len(traceRows(t)) }
