package record

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
)

// Under another workload than was reviewed the data may fare better, but not worse; the lock must do as reviewed.
func TestSurpriseUnderAnotherWorkload(t *testing.T) {
	verdict := func(names ...checker.Name) checker.Verdict {
		v := checker.Verdict{Kind: checker.Safe}
		for _, name := range names {
			v.Kind, v.Anomalies = checker.Broken, append(v.Anomalies, checker.Anomaly{Name: name})
		}
		return v
	}
	na := checker.Verdict{Kind: checker.NotApplicable}
	for name, test := range map[string]struct {
		seen, reviewed checker.Verdict
		surprise       bool
	}{
		"the same":                {verdict(checker.DoubleHolder, checker.LostUpdate), verdict(checker.DoubleHolder, checker.LostUpdate), false},
		"the data fares better":   {verdict(checker.DoubleHolder), verdict(checker.DoubleHolder, checker.StaleWrite, checker.LostUpdate), false},
		"only the data fared ill": {verdict(), verdict(checker.StaleWrite), false},
		"another trouble of it":   {verdict(checker.DoubleHolder, checker.LostUpdate), verdict(checker.DoubleHolder, checker.StaleWrite), false},
		"the data fares worse":    {verdict(checker.DoubleHolder, checker.LostUpdate), verdict(checker.DoubleHolder), true},
		"data that was safe":      {verdict(checker.LostUpdate), verdict(), true},
		"the lock fares better":   {verdict(checker.LostUpdate), verdict(checker.DoubleHolder, checker.LostUpdate), true},
		"the lock fares worse":    {verdict(checker.DoubleHolder), verdict(), true},
		"not applicable":          {na, verdict(), true},
		"applicable after all":    {verdict(), na, true},
		"not applicable as known": {na, na, false},
	} {
		t.Run(name, func(t *testing.T) {
			cell := Cell{Verdict: test.seen, Expected: Expectation{Verdict: test.reviewed, By: ByLock}}
			assert.Equal(t, test.surprise, cell.Surprise())
		})
	}
}
