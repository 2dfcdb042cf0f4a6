package outcome_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/outcome"
	"github.com/locklab/locklab/internal/report/reporttest"
)

func TestStatus(t *testing.T) {
	safe, unknown := checker.Verdict{Kind: checker.Safe}, checker.Verdict{Kind: checker.Undecided}
	none := checker.Verdict{Kind: checker.NotApplicable, Reason: "why"}
	failed := reporttest.CellOf("l", "s", safe, safe)
	failed.Failure = "x"
	atFault := unknown
	atFault.CheckerFault = true
	for want, c := range map[outcome.Status]record.Cell{
		outcome.AsExpected: reporttest.CellOf("l", "s", reporttest.Broken(checker.Overwrite), reporttest.Broken(checker.Overwrite)),
		outcome.Surprise:   reporttest.CellOf("l", "s", none, safe),
		outcome.Skipped:    reporttest.CellOf("l", "s", none, none),
		outcome.Unknown:    reporttest.CellOf("l", "s", unknown, safe),
		outcome.Failed:     failed,
	} {
		require.Equal(t, want, outcome.StatusOf(c))
	}
	require.Equal(t, outcome.Failed, outcome.StatusOf(reporttest.CellOf("l", "s", atFault, safe)))
}
