package stalls

import (
	"context"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

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
				var seen Log
				life, end := context.WithTimeout(t.Context(), 5*time.Second)
				defer end()
				answers := test.answers
				go seen.Attend(life, func(ctx context.Context) error {
					if len(answers) == 0 {
						return test.err
					}
					next := answers[0]
					answers = answers[1:]
					select {
					case <-time.After(next):
						return test.err
					case <-ctx.Done():
						return ctx.Err()
					}
				})
				<-life.Done()
				synctest.Wait()
				assert.Equal(t, test.longest, seen.Longest(time.Time{}))
			})
		})
	}
}
