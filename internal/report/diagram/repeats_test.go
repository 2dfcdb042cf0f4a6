package diagram

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
)

// TestRepeatsAreLeftOut asserts that of the tries of a client that polls the first and the last are shown, and those that an anomaly names;
// a run that is short, a try with another answer and one of another client are shown as well.
func TestRepeatsAreLeftOut(t *testing.T) {
	try := func(client, reply string) history.Event {
		return history.Event{Kind: history.KindCommand, Client: client, Lock: "k", Op: history.OpAcquire, ID: 1, Detail: &history.Detail{
			Command: &history.Command{Server: "redis", Args: []string{"SETNX", "k", "1"}, Reply: reply}}}
	}
	many := func(n int, e history.Event) []history.Event {
		var all []history.Event
		for range n {
			all = append(all, e)
		}
		return all
	}
	shown := func(anomalies []checker.Anomaly, runs ...[]history.Event) (events []int) {
		var all []history.Event
		for _, run := range runs {
			all = append(all, run...)
		}
		for i := range all {
			all[i].At = time.Duration(i) * time.Millisecond
		}
		for _, r := range Of(all).rowsOf(record.Cell{Verdict: checker.Verdict{Anomalies: anomalies}}, 100) {
			if r.kind == rowEvent {
				events = append(events, r.event)
			}
		}
		return events
	}
	assert.Equal(t, []int{0, 9}, shown(nil, many(10, try("C1", "0"))))
	assert.Equal(t, []int{0, 4, 9}, shown([]checker.Anomaly{{Events: []int{4}}}, many(10, try("C1", "0"))))
	assert.Equal(t, []int{0, 1, 2, 3}, shown(nil, many(4, try("C1", "0"))))
	assert.Equal(t, []int{0, 9, 10, 19}, shown(nil, many(10, try("C1", "0")), many(10, try("C2", "0"))))
	assert.Equal(t, []int{0, 9, 10}, shown(nil, many(10, try("C1", "0")), many(1, try("C1", "1"))))
}
