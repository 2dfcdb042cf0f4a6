package checker

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Under another workload than was reviewed the data may fare better, but not worse; the lock must do as reviewed.
func TestSurpriseUnderAnotherWorkload(t *testing.T) {
	verdict := func(names ...Name) Verdict {
		v := Verdict{Kind: Safe}
		for _, name := range names {
			v.Kind, v.Anomalies = Broken, append(v.Anomalies, Anomaly{Name: name})
		}
		return v
	}
	na := Verdict{Kind: NotApplicable}
	for name, test := range map[string]struct {
		seen, reviewed Verdict
		surprise       bool
	}{
		"the same":                {verdict(DoubleHolder, LostUpdate), verdict(DoubleHolder, LostUpdate), false},
		"the data fares better":   {verdict(DoubleHolder), verdict(DoubleHolder, StaleWrite, LostUpdate), false},
		"only the data fared ill": {verdict(), verdict(StaleWrite), false},
		"another trouble of it":   {verdict(DoubleHolder, LostUpdate), verdict(DoubleHolder, StaleWrite), false},
		"the data fares worse":    {verdict(DoubleHolder, LostUpdate), verdict(DoubleHolder), true},
		"data that was safe":      {verdict(LostUpdate), verdict(), true},
		"the lock fares better":   {verdict(LostUpdate), verdict(DoubleHolder, LostUpdate), true},
		"the lock fares worse":    {verdict(DoubleHolder), verdict(), true},
		"not applicable":          {na, verdict(), true},
		"applicable after all":    {verdict(), na, true},
		"not applicable as known": {na, na, false},
	} {
		t.Run(name, func(t *testing.T) {
			cell := Cell{Verdict: test.seen, Expected: Expected{Verdict: test.reviewed, By: ByLock}}
			assert.Equal(t, test.surprise, cell.Surprise())
		})
	}
}
