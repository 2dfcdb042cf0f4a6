package report

import (
	"fmt"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
)

// status is how a cell came out, measured by what was expected of it.
type status int

// The statuses; of several rounds of a cell the greatest is shown.
const (
	statusSkipped  status = iota // n/a, as expected
	statusExpected               // safe or broken, as expected
	statusKnown                  // a surprise that the baseline has, or that the run was to accept
	statusUnknown
	statusSurprise
	statusFailed
)

func statusOf(c record.Cell) status {
	switch {
	case c.Failure != "" || c.Verdict.CheckerFault:
		return statusFailed
	case c.Verdict.Kind == checker.Undecided:
		return statusUnknown
	case c.Surprise() && c.Known:
		return statusKnown
	case c.Surprise():
		return statusSurprise
	case c.Verdict.Kind == checker.NotApplicable:
		return statusSkipped
	}
	return statusExpected
}

func (s status) String() string {
	switch s {
	case statusSkipped:
		return "n/a"
	case statusKnown:
		return "known"
	case statusUnknown:
		return "unknown"
	case statusSurprise:
		return "SURPRISE"
	case statusFailed:
		return "FAILED"
	}
	return "expected"
}

// outcome is what came of a cell in one line, with what was expected if that was something else.
func outcome(c record.Cell) string {
	switch statusOf(c) {
	case statusFailed:
		if c.Failure == "" {
			return clean("the lab's two judges disagree: " + c.Verdict.Reason)
		}
		return clean(strings.ReplaceAll(c.Failure, "\n", "; "))
	case statusSurprise, statusKnown:
		if c.Storm != nil && c.Verdict.Kind == checker.Safe && c.Expected.By == record.ByPromises {
			return clean(fmt.Sprintf("%s; the known bug was not hit in %s; use a longer --for, or --count", found(c), duration(c.Took)))
		}
		return clean(fmt.Sprintf("%s%s; expected %s (%s)", found(c), brokenPromises(c.Verdict), expectation(c.Expected), author(c.Expected)))
	}
	return clean(found(c))
}

// found is the verdict. That of an interrupted cell says so: its reason, if nothing was found.
func found(c record.Cell) string {
	if c.Interrupted && c.Verdict.Kind == checker.Broken {
		return c.Verdict.String() + "; interrupted after that"
	}
	return c.Verdict.String()
}

// outcomeBeside is outcome where the status stands beside it, so that "n/a" and "unknown" need not be said twice.
func outcomeBeside(c record.Cell) string {
	s := statusOf(c)
	if (s == statusSkipped || s == statusUnknown) && c.Verdict.Reason != "" {
		return clean(c.Verdict.Reason)
	}
	if s == statusExpected && c.Expected.Verdict.Kind == "" && c.Expected.By != "" {
		return outcome(c) + ", of a lock known to be broken"
	}
	return outcome(c)
}

// cellName is how commands name a cell.
func cellName(c record.Cell) string { return clean(c.Lock + "/" + c.Scenario) }

// roundName is cellName, with the round if there is more than one.
func roundName(c record.Cell, rounds int) string {
	if rounds < 2 {
		return cellName(c)
	}
	return fmt.Sprintf("%s round %d", cellName(c), c.Round)
}

// counts are the numbers of cells by how they came out.
type counts struct {
	Cells         int `json:"cells"`
	Safe          int `json:"safe"`
	Broken        int `json:"broken"`
	NotApplicable int `json:"not_applicable"`
	Unknown       int `json:"unknown"`
	Failed        int `json:"failed"`
	Surprises     int `json:"surprises"`            // these are counted among the safe, the broken and the n/a as well
	Known         int `json:"known,omitempty"`      // surprises that are no news; likewise
	Retried       int `json:"begun_anew,omitempty"` // cells that a stall of the host had spoilt before; they are counted above as well
}

func countCells(cells []record.Cell) counts {
	var n counts
	for _, c := range cells {
		n.add(c)
	}
	return n
}

func (n *counts) add(c record.Cell) {
	n.Cells++
	if len(c.Stalls) > 0 {
		n.Retried++
	}
	s := statusOf(c)
	switch s {
	case statusSurprise:
		n.Surprises++
	case statusKnown:
		n.Known++
	}
	switch {
	case s == statusFailed:
		n.Failed++
	case c.Verdict.Kind == checker.Undecided:
		n.Unknown++
	case c.Verdict.Kind == checker.NotApplicable:
		n.NotApplicable++
	case c.Verdict.Kind == checker.Broken:
		n.Broken++
	default:
		n.Safe++
	}
}

// String writes the counts in one line.
func (n counts) String() string {
	text := fmt.Sprintf("%s: %d safe, %d broken, %d n/a, %d unknown, %d failed; %s",
		plural(n.Cells, "cell", "cells"), n.Safe, n.Broken, n.NotApplicable, n.Unknown, n.Failed, plural(n.Surprises, "surprise", "surprises"))
	if n.Known > 0 {
		text += fmt.Sprintf(", %d known", n.Known)
	}
	if n.Retried > 0 {
		text += fmt.Sprintf("; %d retried at half speed (host stalled)", n.Retried)
	}
	return text
}

// expectation words what a cell should come to.
func expectation(e record.Expectation) string {
	switch {
	case e.Verdict.Kind == "":
		return "any verdict: the lock is known to be broken"
	case e.By != record.ByPromises:
		return e.Verdict.String()
	case e.Verdict.Kind == checker.Broken:
		return "a broken promise"
	}
	return "no broken promise"
}

// author is who says what is expected.
func author(e record.Expectation) string {
	if e.By == record.ByScript {
		return "the script's line 'expect'"
	}
	return e.By
}
