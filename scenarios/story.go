package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// Bounds of spans, so that a script ends in the time that somebody waits for it.
const (
	maxWithin = 10 * time.Minute
	maxDelay  = 10 * time.Second
	maxJump   = 24 * time.Hour
)

// checkStory complains about steps that are well written but cannot happen: a client that acts though it crashed, a pause that
// nobody ends, a result that the step cannot have.
func checkStory(s *Script, wrong *complaints) {
	cast := map[string]*actor{}
	for _, client := range s.Clients {
		shared := &host{name: client, links: linksTo(s.Servers)}
		for _, name := range append(s.HandlesOf(client), client) {
			cast[name] = &actor{name: name, host: shared}
		}
	}
	copies := saved{}
	for _, step := range s.Steps {
		err := cmp.Or(checkStep(step, s.Lease), copies.act(step, s.Servers))
		if who := cast[step.Client]; who != nil {
			err = cmp.Or(err, who.act(step))
		}
		if err != nil {
			wrong.add(step.Line, "%s", err)
		}
	}
	for _, name := range s.Actors() {
		cast[name].end(s, wrong)
	}
	slices.SortStableFunc(wrong.all, func(a, b ParseError) int { return a.Line - b.Line })
}

// checkStep checks what a step asks for by itself.
func checkStep(step Step, lease time.Duration) error {
	if err := checkSpans(step, lease); err != nil {
		return err
	}
	if step.Async && len(step.Want) > 0 {
		return fmt.Errorf("an operation in the background has no result yet; expect it where it ends, as in '%s await => ok'", step.Client)
	}
	if step.Verb == VerbRenews && (len(step.Breakpoints) != 1 || step.Async || !holds(step.Breakpoints[0])) {
		return fmt.Errorf("a renewal in the background can only be held; write '%s renews hold reply of first write'", step.Client)
	}
	possible := possibleResults(step)
	for _, want := range step.Want {
		if !slices.Contains(possible, want) {
			return fmt.Errorf("this step cannot come to %q; possible here: %s", want, strings.Join(stringsOf(possible), ", "))
		}
	}
	return nil
}

func checkSpans(step Step, lease time.Duration) error {
	switch {
	case step.Within != Span{} && step.Op != history.OpAcquire && step.Op != history.OpRelease:
		return fmt.Errorf("only an acquire and a release take 'within'; remove it")
	case step.Within != Span{} && step.Op == history.OpRelease && (step.Async || len(step.Breakpoints) > 0):
		return fmt.Errorf("a release 'within' a time cannot run in the background or stop at a breakpoint; remove these")
	case step.Within.Of(lease) > maxWithin:
		return fmt.Errorf("an operation may take at most %s", span(maxWithin))
	case step.Verb == VerbDelay && step.Span.Of(lease) > maxDelay:
		return fmt.Errorf("a delay may be at most %s", span(maxDelay))
	case step.Span.Of(lease).Abs() > maxJump:
		return fmt.Errorf("a clock may be moved by at most %s", span(maxJump))
	}
	return nil
}

// possibleResults lists what a step can come to.
func possibleResults(step Step) []Result {
	switch step.Verb {
	case VerbOp:
		if stops(step.Breakpoints) {
			return []Result{ResultHeldUp}
		}
		return []Result{ResultOK, ResultNo, ResultUnknown}
	case VerbAwait, VerbTimesOut:
		return []Result{ResultOK, ResultNo, ResultUnknown, ResultHeldUp}
	case VerbContinue:
		return []Result{ResultOK, ResultNo, ResultUnknown, ResultHeldUp, ResultDone}
	case VerbRenews:
		return []Result{ResultHeldUp}
	case VerbGiveUp:
		return []Result{ResultUnknown, ResultOK, ResultNo}
	case VerbWaitExpired:
		return []Result{ResultExpired, ResultLive}
	case VerbWaitFreed, VerbWaitRenewed:
		return []Result{ResultOK, ResultNo}
	}
	return []Result{ResultDone}
}

// holds says whether a trap keeps what it catches until 'continue'.
func holds(t faults.Breakpoint) bool {
	return t.Action == faults.ActHoldRequest || t.Action == faults.ActHoldReply
}

// stops says whether an operation with these traps cannot simply run to its end.
func stops(traps []faults.Breakpoint) bool {
	return slices.ContainsFunc(traps, func(t faults.Breakpoint) bool {
		return t.Action != faults.ActDuplicate && t.Action != faults.ActHoldCopy
	})
}
