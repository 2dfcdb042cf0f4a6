package live

import (
	"context"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A client's sleep that ends late is a host stall, unless the lab paused the client meanwhile.
func TestLateClient(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		resumed time.Time // zero: it was not paused
		late    time.Duration
	}{
		"never paused":         {late: time.Second},
		"paused before":        {resumed: now.Add(-1100 * time.Millisecond), late: time.Second},
		"paused meanwhile":     {resumed: now.Add(-100 * time.Millisecond)},
		"paused, woke at once": {resumed: now},
	} {
		t.Run(name, func(t *testing.T) {
			p := &peer{cell: &cell{memory: new(memory), stage: &stage{world: &World{pulse: &pulse{}}, base: now.Add(-2 * time.Second)}}, resumed: test.resumed}
			p.wasLate(now, time.Second)
			assert.Equal(t, test.late, p.cell.LongestStall(0))
			assert.Zero(t, p.cell.LongestStall(1500*time.Millisecond), "it began earlier")
		})
	}
}

// A client that got no lock tries again if the host stalled meanwhile, not for ever, and not otherwise.
func TestAgainAfterStalls(t *testing.T) {
	for name, test := range map[string]struct {
		stalls, gets int // in how many tries the host stalls; which try gets the lock
		tries        int
		got          bool
	}{
		"at once":            {gets: 1, tries: 1, got: true},
		"no stall":           {gets: 2, tries: 1},
		"after two stalls":   {stalls: 2, gets: 3, tries: 3, got: true},
		"stalls without end": {stalls: 100, gets: 100, tries: quietTries},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			got, err := againAfterStalls(func(time.Time) bool { return tries <= test.stalls }, func() (bool, error) {
				tries++
				return tries == test.gets, nil
			})
			require.NoError(t, err)
			assert.Equal(t, test.got, got)
			assert.Equal(t, test.tries, tries)
		})
	}
}

// A server that gives no answer for a while has stalled: for as long as that lasts, also while it still does. One that answers in time, or refuses,
// has not.
func TestSilentServer(t *testing.T) {
	for name, test := range map[string]struct {
		answers []time.Duration // after which it answers, one question after the other; then at once
		err     error           // the answer
		longest time.Duration
	}{
		"at once":                    {},
		"in time":                    {answers: []time.Duration{lateAnswer}},
		"late":                       {answers: []time.Duration{lateAnswer + time.Millisecond}, longest: lateAnswer + time.Millisecond},
		"two, the longer one counts": {answers: []time.Duration{400 * time.Millisecond, 300 * time.Millisecond}, longest: 400 * time.Millisecond},
		"longer than the lab waits":  {answers: []time.Duration{time.Hour, time.Hour, 300 * time.Millisecond}, longest: 2*askBound + 300*time.Millisecond},
		"silent until the cell ends": {answers: []time.Duration{time.Hour, time.Hour, time.Hour, time.Hour, time.Hour, time.Hour}, longest: 5 * time.Second},
		"it is down, and refuses":    {err: syscall.ECONNREFUSED},
		"it refuses after a while":   {answers: []time.Duration{400 * time.Millisecond}, err: syscall.ECONNREFUSED},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen stalls
				life, end := context.WithTimeout(t.Context(), 5*time.Second)
				defer end()
				answers := test.answers
				go seen.attend(life, func(ctx context.Context) error {
					if len(answers) == 0 {
						return test.err
					}
					next := answers[0]
					answers = answers[1:]
					if err := sleep(ctx, next); err != nil {
						return err
					}
					return test.err
				})
				<-life.Done()
				synctest.Wait()
				assert.Equal(t, test.longest, seen.longest(time.Time{}))
			})
		})
	}
}
