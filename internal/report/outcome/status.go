// Package outcome says how the cells of a run came out, measured by what was expected of them: in a word, in a line, counted, and by lock and scenario.
//
// It owns statuses and their words, which all reports share. It must not judge, and must not know where a word is shown.
package outcome

import (
	"fmt"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
)

// Status is how a cell came out, measured by what was expected of it.
type Status int

// The statuses; of several rounds of a cell the greatest is shown.
const (
	Skipped    Status = iota // n/a, as expected
	AsExpected               // safe or broken, as expected
	Known                    // a surprise that the baseline has, or that the run was to accept
	Unknown
	Surprise
	Failed
)

func StatusOf(c record.Cell) Status {
	switch {
	case c.Failure != "" || c.Verdict.CheckerFault:
		return Failed
	case c.Verdict.Kind == checker.Undecided:
		return Unknown
	case c.Surprise() && c.Known:
		return Known
	case c.Surprise():
		return Surprise
	case c.Verdict.Kind == checker.NotApplicable:
		return Skipped
	}
	return AsExpected
}

func (s Status) String() string {
	switch s {
	case Skipped:
		return "n/a"
	case Known:
		return "known"
	case Unknown:
		return "unknown"
	case Surprise:
		return "SURPRISE"
	case Failed:
		return "FAILED"
	}
	return "expected"
}

// Of is what came of a cell in one line, with what was expected if that was something else.
func Of(c record.Cell) string {
	switch StatusOf(c) {
	case Failed:
		if c.Failure == "" {
			return format.Clean("the lab's two judges disagree: " + c.Verdict.Reason)
		}
		return format.Clean(strings.ReplaceAll(c.Failure, "\n", "; "))
	case Surprise, Known:
		if c.Storm != nil && c.Verdict.Kind == checker.Safe && c.Expected.By == record.ByPromises {
			return format.Clean(fmt.Sprintf("%s; the known bug was not hit in %s; use a longer --for, or --count", Found(c), format.Duration(c.Took)))
		}
		return format.Clean(fmt.Sprintf("%s%s; expected %s (%s)", Found(c), brokenPromises(c.Verdict), expectation(c.Expected), author(c.Expected)))
	}
	return format.Clean(Found(c))
}

// Found is the verdict. That of an interrupted cell says so: its reason, if nothing was found.
func Found(c record.Cell) string {
	if c.Interrupted && c.Verdict.Kind == checker.Broken {
		return c.Verdict.String() + "; interrupted after that"
	}
	return c.Verdict.String()
}

// Beside is outcome where the status stands beside it, so that "n/a" and "unknown" need not be said twice.
func Beside(c record.Cell) string {
	s := StatusOf(c)
	if (s == Skipped || s == Unknown) && c.Verdict.Reason != "" {
		return format.Clean(c.Verdict.Reason)
	}
	if s == AsExpected && c.Expected.Verdict.Kind == "" && c.Expected.By != "" {
		return Of(c) + ", of a lock known to be broken"
	}
	return Of(c)
}

// CellName is how commands name a cell.
func CellName(c record.Cell) string { return format.Clean(c.Lock + "/" + c.Scenario) }

// RoundName is cellName, with the round if there is more than one.
func RoundName(c record.Cell, rounds int) string {
	if rounds < 2 {
		return CellName(c)
	}
	return fmt.Sprintf("%s round %d", CellName(c), c.Round)
}

// Counts are the numbers of cells by how they came out.
type Counts struct {
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

func Count(cells []record.Cell) Counts {
	var n Counts
	for _, c := range cells {
		n.add(c)
	}
	return n
}

func (n *Counts) add(c record.Cell) {
	n.Cells++
	if len(c.Stalls) > 0 {
		n.Retried++
	}
	s := StatusOf(c)
	switch s {
	case Surprise:
		n.Surprises++
	case Known:
		n.Known++
	}
	switch {
	case s == Failed:
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
func (n Counts) String() string {
	text := fmt.Sprintf("%s: %d safe, %d broken, %d n/a, %d unknown, %d failed; %s",
		format.Plural(n.Cells, "cell", "cells"), n.Safe, n.Broken, n.NotApplicable, n.Unknown, n.Failed, format.Plural(n.Surprises, "surprise", "surprises"))
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

// Painted colours s as befits the cell.
func Painted(p format.Paint, s string, c record.Cell) string {
	switch StatusOf(c) {
	case Skipped:
		return p.Dim(s)
	case Unknown:
		return p.With("1;35", s)
	case Surprise, Failed:
		return p.Alarm(s)
	}
	if c.Verdict.Kind == checker.Broken {
		return p.With("33", s)
	}
	return p.With("32", s)
}

// Mark is the sign of a status for those who see no colours.
func (s Status) Mark() string {
	switch s {
	case Surprise:
		return "!!"
	case Known:
		return " !"
	case Failed:
		return "XX"
	case Unknown:
		return "??"
	}
	return "  "
}
