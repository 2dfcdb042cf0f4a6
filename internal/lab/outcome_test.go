package lab_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
)

func cell(kind checker.Kind) record.Cell {
	return record.Cell{
		Verdict:  checker.Verdict{Kind: kind},
		Expected: record.Expectation{Verdict: checker.Verdict{Kind: checker.Safe}, By: record.ByMatrix},
	}
}

func TestOutcomeOf(t *testing.T) {
	safe, broken, unknown, skipped := cell(checker.Safe), cell(checker.Broken), cell(checker.Undecided), cell(checker.NotApplicable)
	failed, atOdds := cell(checker.Undecided), cell(checker.Undecided)
	failed.Failure, atOdds.Verdict.CheckerFault = "the server is gone", true
	known := broken
	known.Known = true
	expectedSkip := skipped
	expectedSkip.Expected.Verdict = skipped.Verdict
	for name, test := range map[string]struct {
		cells []record.Cell
		left  int // cells that did not end
		want  lab.Outcome
	}{
		"as expected":                       {[]record.Cell{safe, safe}, 0, lab.AsExpected},
		"unknown":                           {[]record.Cell{safe, unknown, safe}, 0, lab.Unknown},
		"surprise before unknown":           {[]record.Cell{broken, unknown}, 0, lab.Surprise},
		"surprise after unknown":            {[]record.Cell{unknown, broken}, 0, lab.Surprise},
		"known surprise":                    {[]record.Cell{known, safe}, 0, lab.AsExpected},
		"known surprise and unknown":        {[]record.Cell{known, unknown}, 0, lab.Unknown},
		"failure is worse than either":      {[]record.Cell{failed, broken, unknown}, 0, lab.Failed},
		"checker at fault":                  {[]record.Cell{known, atOdds}, 0, lab.Failed},
		"not all have ended":                {[]record.Cell{safe, known}, 1, lab.Unknown},
		"a surprise ended it":               {[]record.Cell{safe, broken}, 1, lab.Surprise},
		"none has ended":                    {nil, 1, lab.Unknown},
		"n/a only":                          {[]record.Cell{expectedSkip, expectedSkip}, 0, lab.Nothing},
		"n/a only, not all have ended":      {[]record.Cell{expectedSkip}, 1, lab.Unknown},
		"n/a, and one that is not":          {[]record.Cell{expectedSkip, safe}, 0, lab.AsExpected},
		"n/a that nobody expected":          {[]record.Cell{skipped}, 0, lab.Surprise},
		"n/a only, of which one is a known": {[]record.Cell{expectedSkip, {Verdict: skipped.Verdict, Expected: safe.Expected, Known: true}}, 0, lab.Nothing},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, lab.OutcomeOf(&record.Run{Cells: test.cells, Finished: test.left == 0}))
		})
	}
}
