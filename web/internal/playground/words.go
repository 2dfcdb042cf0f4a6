package playground

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/report/exploration"
	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/internal/sim/trace"
)

// described is a choice in words, those of lab explore: what it is, and what it leads to.
type described struct{ label, leads, group, client string }

const (
	ofTime   = "time"
	ofServer = "server"
)

// describe puts the steps of a choice into words. They follow those of the trace, or are part of it. asks is the request that its client sends next.
func describe(t *trace.Trace, id string, steps []trace.Step, asks [][]string) described {
	if len(steps) == 0 { // nothing but the session goes on
		client := clientOf(id)
		return described{label: client + ": its library has contact with the server", leads: "its session goes on", group: client, client: client}
	}
	if steps[len(steps)-1].Client >= explored(steps) {
		return described{label: "nobody else comes, and a fresh client tries to get the lock", leads: "the end", group: ofTime}
	}
	first := steps[0]
	d := described{client: clientName(first)}
	switch {
	case first.Kind == trace.Time || delays(first):
		d.group = ofTime
	case d.client != "":
		d.group = d.client
	default:
		d.group = ofServer
	}
	var labels, meanings, leads []string
	for i, s := range steps {
		text := exploration.StepText(t, s)
		if who := cmp.Or(clientName(s), serverName(t, s)); who != "" && (i == 0 || s.Client != first.Client || delays(s)) {
			text = who + ": " + text
		}
		if i > 0 && s.Kind != trace.Time && !delays(s) {
			leads = append(leads, text)
			continue
		}
		labels = append(labels, text)
		if s.Kind == trace.Fault {
			meanings = append(meanings, t.Meaning(s))
		}
	}
	leads = slices.Concat(slices.Compact(meanings), leads, changes(t, steps))
	if asks != nil {
		leads = append(leads, "it sends "+exploration.RequestText(t, asks)+" next")
	}
	d.label, d.leads = strings.Join(labels, ", "), cmp.Or(strings.Join(leads, "; "), "nothing else changes yet")
	return d
}

// clientOf is the client whose step a choice is.
func clientOf(id string) string {
	fields := strings.Split(id, ".")
	i, _ := strconv.Atoi(fields[min(1, len(fields)-1)])
	return trace.ClientName(i)
}

// explored is how many clients have a part in the steps from their beginning; the one beyond comes at the end.
func explored(steps []trace.Step) int {
	if i := slices.IndexFunc(steps, func(s trace.Step) bool { return s.Fresh }); i >= 0 {
		return steps[i].Client
	}
	return search.MostClients + 1
}

// clientName is the client whose step it is; empty: it is none's.
func clientName(s trace.Step) string {
	if s.Client < 0 {
		return ""
	}
	return trace.ClientName(s.Client)
}

// serverName is the server that a fault of no client hits.
func serverName(t *trace.Trace, s trace.Step) string {
	if s.Client >= 0 || s.Kind != trace.Fault {
		return ""
	}
	return trace.ServerName(t.Servers, s.Server)
}

// delays says whether a step is a pause or a long hold: time passes with it.
func delays(s trace.Step) bool {
	return s.Kind == trace.Fault && (s.Fault == faults.Pause || s.Fault == faults.LongHold)
}

// changes are what is otherwise after steps than before: who believes that it holds, and what servers have.
func changes(t *trace.Trace, steps []trace.Step) []string {
	before, now := stateBefore(t, steps), steps[len(steps)-1].After
	var list []string
	for i, holds := range now.Holds {
		switch was := i < len(before.Holds) && before.Holds[i]; {
		case holds && !was:
			list = append(list, trace.ClientName(i)+" believes that it holds the lock")
		case was && !holds:
			list = append(list, trace.ClientName(i)+" no longer believes that it holds the lock")
		}
	}
	for i, key := range now.Keys {
		var was history.State
		if i < len(before.Keys) {
			was = before.Keys[i]
		}
		switch server := trace.ServerName(t.Servers, i); {
		case was.Exists() && !key.Exists():
			list = append(list, "the lock on "+server+" is gone")
		case key != was:
			list = append(list, server+": "+exploration.KeyText(t, key))
		}
	}
	return list
}

// stateBefore is what was so before steps, which follow the trace or are part of it.
func stateBefore(t *trace.Trace, steps []trace.Step) trace.State {
	at := len(t.Steps)
	for i := range t.Steps {
		if &t.Steps[i] == &steps[0] {
			at = i
		}
	}
	if at == 0 {
		return trace.State{}
	}
	return t.Steps[at-1].After
}
