package playground

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/internal/sim/trace"
)

// described is a choice in words: what it is, and what it leads to.
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
	var d described
	switch first := steps[0]; {
	case isDelay(first):
		d = ofDelay(steps)
	case first.Client >= 0:
		d.client = trace.ClientName(first.Client)
		d.group = d.client
		d.label = d.client + ": " + words(t, first)
	case first.Kind == trace.Time:
		d = described{label: first.Passed.String() + " pass", group: ofTime}
	default:
		d = described{label: trace.ServerName(t.Servers, first.Server) + ": " + words(t, first), group: ofServer}
	}
	var leads []string
	if s := steps[0]; s.Kind == trace.Serve || s.Kind == trace.Arrive {
		leads = append(leads, "answered "+short(s.Reply))
	}
	for i, s := range steps {
		if i > 0 && s.Kind != trace.Time && !isDelay(s) {
			leads = append(leads, after(t, steps[0].Client, s))
		}
	}
	leads = append(leads, changes(t, steps)...)
	if asks != nil {
		leads = append(leads, "it asks "+request(asks)+" next")
	}
	d.leads = cmp.Or(strings.Join(leads, "; "), nothingYet(steps[len(steps)-1]))
	return d
}

// nothingYet is what a step leads to that changes neither a belief nor a server.
func nothingYet(s trace.Step) string {
	switch s.Fault {
	case faults.Crash:
		return "it takes no more steps"
	case faults.Restart, faults.FailOver:
		return "connections to it break"
	case faults.ClockAhead, faults.ClockBehind, faults.StepAhead, faults.StepBack:
		return "it goes by that when it reads its clock"
	}
	if s.Kind == trace.Time {
		return "no lease on a server ends"
	}
	return "nothing else changes yet"
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

// after is a step that follows in the same choice, which is a client's.
func after(t *trace.Trace, client int, s trace.Step) string {
	text := words(t, s)
	if s.Kind == trace.Serve || s.Kind == trace.Arrive {
		text += ", answered " + short(s.Reply)
	}
	if s.Client == client {
		return text
	}
	return cmp.Or(name(s), "the server") + ": " + text
}

func name(s trace.Step) string {
	if s.Client < 0 {
		return ""
	}
	return trace.ClientName(s.Client)
}

// isDelay says whether a step begins a pause or a long hold, or a client waits for what is lost, while time passes.
func isDelay(s trace.Step) bool {
	return s.Kind == trace.Fault && (s.Fault == faults.Pause || s.Fault == faults.LongHold || s.Waits)
}

// ofDelay is time that passes while clients are paused, or busy.
func ofDelay(steps []trace.Step) described {
	var who []string
	var passed time.Duration
	for _, s := range steps {
		switch {
		case s.Kind == trace.Time:
			passed = s.Passed
		case s.Waits:
			who = append(who, name(s)+" waits for a reply that is lost")
		case s.Fault == faults.Pause:
			who = append(who, name(s)+" is paused")
		case s.Fault == faults.LongHold:
			who = append(who, name(s)+" works")
		}
	}
	return described{label: strings.Join(who, ", ") + " for " + passed.String(), group: ofTime, client: name(steps[0])}
}

// words are one step in words, without its client.
func words(t *trace.Trace, s trace.Step) string {
	switch s.Kind {
	case trace.Call:
		return "calls " + s.Op.String()
	case trace.Serve, trace.Arrive:
		text := request(s.Request) + on(t, s)
		switch {
		case s.Kind == trace.Arrive:
			text = "its late request arrives: " + text
		case s.Beside:
			text += " in the background"
		}
		return text
	case trace.Reply:
		return "gets the reply " + short(s.Reply)
	case trace.Return:
		return returned(s)
	case trace.Expire:
		return "its time-out is over"
	case trace.Wake:
		return "wakes up"
	case trace.Break:
		return "learns that its connection has broken"
	case trace.Heal:
		return "is cut off no more"
	case trace.Time:
		return s.Passed.String() + " pass"
	case trace.Notice:
		return s.Text
	case trace.Fault:
		return struck(t, s)
	}
	return string(s.Kind)
}

// struck is a fault in words.
func struck(t *trace.Trace, s trace.Step) string {
	switch s.Fault {
	case faults.Crash:
		return "crashes"
	case faults.ReplyLost:
		return "its reply is lost" + on(t, s)
	case faults.LateRequest:
		return "its request is late, and it gets no reply: " + request(s.Request) + on(t, s)
	case faults.Duplicate:
		return "its request is sent twice" + on(t, s)
	case faults.Partition:
		return "is cut off"
	case faults.Restart:
		return "restarts without its data"
	case faults.FailOver:
		return "fails over, and loses " + map[bool]string{true: "its last write", false: fmt.Sprintf("its last %d writes", s.Lost)}[s.Lost <= 1]
	case faults.ClockJump:
		return "its clock jumps ahead by " + trace.InLeases(2*t.Lease, t.Lease)
	case faults.ClockBack:
		return "its clock is set back by " + trace.InLeases(2*t.Lease, t.Lease)
	case faults.ClockAhead:
		return "its clocks are ahead by " + trace.InLeases(t.Skew, t.Lease)
	case faults.ClockBehind:
		return "its clocks are behind by " + trace.InLeases(t.Skew, t.Lease)
	case faults.StepAhead:
		return "its clock is set ahead by " + trace.InLeases(t.Skew, t.Lease)
	case faults.StepBack:
		return "its clock is set back by " + trace.InLeases(t.Skew, t.Lease)
	}
	return t.Meaning(s)
}

func on(t *trace.Trace, s trace.Step) string {
	switch {
	case s.Server < 0:
		return " on the resource"
	case t.Servers > 1:
		return " on " + trace.ServerName(t.Servers, s.Server)
	}
	return ""
}

func returned(s trace.Step) string {
	text := s.Op.String() + " returns " + s.Answer.Outcome.String()
	switch {
	case s.Answer.Outcome == history.OK && s.Op == history.OpWork:
		text += fmt.Sprintf(", it read %d and wrote %d", s.Answer.Read, s.Answer.Wrote)
	case s.Answer.Outcome == history.OK && s.Answer.Limited:
		text += ", valid for " + max(s.Answer.Valid, 0).String()
	}
	if s.Answer.Fence != 0 {
		text += fmt.Sprintf(", fencing token %d", s.Answer.Fence)
	}
	return text
}

// request is a request in short: of a script, its keys and arguments.
func request(commands [][]string) string {
	var all []string
	for _, c := range commands {
		if len(c) > 2 && (c[0] == "EVAL" || c[0] == "EVALSHA") {
			c = append([]string{c[0], "a script,"}, c[3:]...)
		}
		all = append(all, strings.Join(c, " "))
	}
	return clipped(strings.Join(all, "; "), mostRequest)
}

func short(reply string) string {
	return clipped(cmp.Or(strings.Trim(reply, `"`), "nothing"), mostReply)
}

const (
	mostRequest = 90
	mostReply   = 40
)

func clipped(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
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
			list = append(list, trace.ClientName(i)+" does not hold the lock any more")
		}
	}
	changed := keyChanged
	if slices.ContainsFunc(steps, func(s trace.Step) bool { return s.Kind == trace.Time }) {
		changed = leaseWent
	}
	for i, key := range now.Keys {
		var was history.State
		if i < len(before.Keys) {
			was = before.Keys[i]
		}
		if text := changed(was, key, trace.ServerName(t.Servers, i)); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// keyChanged is what became of the lock's key at once.
func keyChanged(was, is history.State, server string) string {
	switch {
	case was.Exists() && !is.Exists():
		return "the lock on " + server + " is gone"
	case is.Exists() && (!was.Exists() || is.Value != was.Value):
		return server + " has " + clipped(is.Value, mostReply) + left(is)
	case is.TTL != was.TTL:
		return server + " has it" + left(is)
	}
	return ""
}

// leaseWent is what became of the lock's key while time passed.
func leaseWent(was, is history.State, server string) string {
	switch {
	case was.Exists() && !is.Exists():
		return "the lease on " + server + " ends"
	case is.TTL >= time.Millisecond:
		return is.TTL.String() + " of the lease on " + server + " are left"
	case is.TTL > 0:
		return "it is the last moment of the lease on " + server
	}
	return ""
}

func left(s history.State) string {
	if s.TTL == 0 {
		return ", without an end"
	}
	return " for " + s.TTL.String()
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

// meaning is what a fault does, in one line.
func meaning(kind faults.Kind) string {
	return trace.Meaning(kind, search.UsualSkew, search.Lease, 1)
}
