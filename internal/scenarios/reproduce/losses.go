package reproduce

import (
	"slices"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/trace"
	"github.com/locklab/locklab/internal/timeline"
)

// unheard says whether a release that removed the lock was answered no because a fault kept its reply from the client, and the lock took the
// error for an answer.
func (r *past) unheard(p *part) bool {
	if p.Op != history.OpRelease || p.Outcome != history.No || len(p.commands) == 0 {
		return false
	}
	removed := p.commands[len(p.commands)-1]
	if e := &r.Events[removed]; !r.changing[removed] || slices.ContainsFunc(e.Command().Changes, func(c history.Change) bool { return c.After.Exists() }) {
		return false
	}
	return slices.ContainsFunc(r.Faults, func(f timeline.FaultSpan) bool {
		hit := f.Target == p.Client || f.Target == history.ProcessOf(p.Client)
		return hit && f.Kind != faults.Skew && f.From <= p.To && f.To >= p.From
	})
}

// lose writes why an operation came to nothing: a request that arrives later, or the reply to the last one.
func (w *traceWriter) lose(h happening) {
	who := w.client(h.part.Client)
	for _, i := range h.part.commands {
		if float64(i) > h.part.To {
			w.add(trace.Step{Kind: trace.Fault, Fault: faults.LateRequest, Client: who, Server: w.past.server(w.past.Events[i].Command().Server), Request: w.past.request(i)})
			return
		}
	}
	if len(h.part.commands) > 0 {
		w.add(trace.Step{Kind: trace.Fault, Fault: faults.ReplyLost, Client: who})
	}
}
