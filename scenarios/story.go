package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// maxWithin bounds an operation, which keeps scripts short.
const maxWithin = 10 * time.Minute

// checkStory reports well-formed steps that cannot happen: a client that acts after its crash, a pause without an end, a result that the
// step cannot have.
func checkStory(s *Script, wrong *complaints) {
	actors := map[string]*actor{}
	for _, client := range s.Clients {
		shared, threads := &host{name: client, links: linksTo(s.Servers)}, map[string][]*actor{}
		for _, name := range append([]string{client}, s.HandlesOf(client)...) {
			who, thread := &actor{name: name, host: shared}, history.ThreadOf(name)
			for _, other := range threads[thread] {
				who.beside, other.beside = append(who.beside, other), append(other.beside, who)
			}
			actors[name], threads[thread] = who, append(threads[thread], who)
		}
	}
	told := map[int]bool{}
	copies, off, during := saved{}, newDowntime(s, actors), newInterludes()
	for _, step := range s.Steps {
		err := cmp.Or(checkStep(step, s.Lease), during.check(step))
		if err == nil {
			err = off.act(step)
		}
		if err == nil {
			during.follow(step)
		}
		err = cmp.Or(err, copies.act(step, s.Servers))
		if who := actors[step.Client]; who != nil {
			err = cmp.Or(err, who.act(step))
		}
		if err != nil && !told[step.Line] {
			told[step.Line] = true // else each round of a repeat would say it
			wrong.add(step.Line, "%s%s", err, step.inRound())
		}
	}
	for _, name := range s.Actors() {
		actors[name].end(s, wrong)
	}
	off.left(wrong)
	slices.SortStableFunc(wrong.all, func(a, b ParseError) int { return a.Line - b.Line })
}

// checkStep checks a step by itself.
func checkStep(step Step, lease time.Duration) error {
	if err := checkSpans(step, lease); err != nil {
		return err
	}
	if step.Async && len(step.Want) > 0 {
		return fmt.Errorf("an operation in the background has no result yet; expect it where it ends, as in '%s await => ok'", step.Client)
	}
	switch {
	case (step.Anyway || step.IfUnknown) && step.Op != history.OpRelease:
		return errors.New("only a release takes 'anyway' and 'if unknown'; remove it")
	case step.Anyway && step.IfUnknown:
		return errors.New("a release takes 'anyway' or 'if unknown', and not both")
	}
	if step.Verb == VerbRenews && (len(step.Breakpoints) != 1 || step.Async || !step.Breakpoints[0].Action.Stops()) {
		return fmt.Errorf("a renewal in the background can only be held; write '%s renews hold reply of first write'", step.Client)
	}
	possible := possibleResults(step)
	for _, want := range step.Want {
		if !slices.Contains(possible, want) {
			return fmt.Errorf("this step cannot end with %q; possible here: %s", want, strings.Join(stringsOf(possible), ", "))
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
	case step.Span.Of(lease).Abs() > longest(step):
		return fmt.Errorf("'%s' takes at most %s", step.Verb, span(longest(step)))
	}
	return nil
}

// longest is the longest time that may follow the verb.
func longest(step Step) time.Duration {
	if f, ok := faults.BegunBy(string(step.Verb)); ok {
		return f.Most
	}
	return 24 * time.Hour
}

// possibleResults lists the results that a step can have.
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
	case VerbWaitFreed, VerbWaitRenewed, VerbWaitRefused, VerbWaitsLost:
		return []Result{ResultOK, ResultNo}
	}
	return []Result{ResultDone}
}

// stops says whether an operation with these breakpoints does not run to its end.
func stops(breakpoints []faults.Breakpoint) bool {
	return slices.ContainsFunc(breakpoints, func(t faults.Breakpoint) bool {
		return t.Action != faults.ActDuplicate && t.Action != faults.ActHoldCopy
	})
}
