package lab_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/scenarios/storm"
)

// TestLeasesOfStorms: no lock goes through a storm with a lease that is too short for its promises.
func TestLeasesOfStorms(t *testing.T) {
	needing := func(lease time.Duration) play.Subject {
		return play.Subject{Name: "mine", Spec: &impls.Spec{Card: impls.Card{MinLease: lease}}}
	}
	for _, test := range []struct {
		needs, given, length, lease time.Duration
		wrong                       string
	}{
		{0, 0, 0, time.Second, ""},
		{0, 2 * time.Second, 0, 2 * time.Second, ""},
		{500 * time.Millisecond, 0, 0, time.Second, ""},
		{10 * time.Second, 0, time.Minute, 10 * time.Second, ""},
		{10 * time.Second, 20 * time.Second, 0, 20 * time.Second, ""},
		{10 * time.Second, 10 * time.Second, 10 * time.Second, 10 * time.Second, ""},
		{10 * time.Second, 9 * time.Second, 0, 0, "a lease of 9s is too short: mine can keep its promises with 10s or more"},
		{10 * time.Second, 0, 9 * time.Second, 0, "a storm of 9s is too short: the lease of mine is 10s"},
	} {
		plan := lab.StormPlan{Subjects: []play.Subject{needing(test.needs)}, Params: storm.Params{Lease: test.given, For: test.length}}
		lease, err := plan.Lease(plan.Subjects[0])
		assert.Equal(t, test.lease, lease)
		if test.wrong == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, test.wrong)
		_, err = lab.Storm(t.Context(), plan)
		require.EqualError(t, err, test.wrong, "before anything is started")
	}
	for hold, wrong := range map[time.Duration]string{
		5 * time.Second: "",
		6 * time.Second: "a hold of 6s is too long: the lease of mine is 10s, and the work alone must not outlast half of it",
	} {
		plan := lab.StormPlan{Params: storm.Params{Work: hold}}
		_, err := plan.Lease(needing(10 * time.Second))
		if wrong == "" {
			assert.NoError(t, err)
			continue
		}
		assert.EqualError(t, err, wrong)
	}
	plan := lab.StormPlan{}
	lease, err := plan.Lease(play.Subject{Name: "unknown"})
	require.NoError(t, err)
	assert.Equal(t, lab.StormLease, lease)
}
