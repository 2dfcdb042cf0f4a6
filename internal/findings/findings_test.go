package findings_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/findings"
	"github.com/locklab/locklab/internal/record"
)

func anomaly(name checker.Name, promise, command string, at time.Duration, last int) checker.Anomaly {
	return checker.Anomaly{Name: name, Breaks: promise, Command: command, At: at, Events: []int{0, last}}
}

func TestGroup(t *testing.T) {
	removed := func(last int) checker.Anomaly {
		return anomaly(checker.WrongfulDelete, "release-by-owner", "DEL", 5, last)
	}
	follows := anomaly(checker.DoubleHolder, "exclusion", "", 7, 30)
	cells := []record.Cell{
		{Lock: "mine", Scenario: "long", Verdict: checker.Verdict{Anomalies: []checker.Anomaly{follows, removed(40)}}},
		{Lock: "mine", Scenario: "small", Verdict: checker.Verdict{Anomalies: []checker.Anomaly{removed(9), removed(20), follows}}},
		{Lock: "mine", Scenario: "another", Verdict: checker.Verdict{Anomalies: []checker.Anomaly{
			anomaly(checker.DoubleHolder, "exclusion", "", 1, 4), anomaly(checker.Overwrite, "exclusion", "SET", 2, 6),
		}}},
		{Lock: "mine", Scenario: "no command", Verdict: checker.Verdict{Anomalies: []checker.Anomaly{
			anomaly(checker.DoubleHolder, "exclusion", "", 2, 6), anomaly(checker.StuckLock, "crash-safe", "", 1, 4),
		}}},
		{Lock: "other", Scenario: "small", Verdict: checker.Verdict{Anomalies: []checker.Anomaly{removed(9)}}},
		{Lock: "mine", Scenario: "safe"},
	}
	found := findings.Group(cells, func(c record.Cell) []checker.Anomaly { return c.Verdict.Anomalies })
	type line struct {
		lock, cause string
		places      []int
	}
	var lines []line
	for _, f := range found {
		l := line{lock: f.Lock, cause: f.Cause.String()}
		for _, p := range f.Places {
			l.places = append(l.places, p.Cell)
		}
		lines = append(lines, l)
	}
	assert.Equal(t, []line{
		{"mine", "release-by-owner: DEL removed another client's lock", []int{1, 0}},
		{"mine", "exclusion: SET overwrote another client's live lock", []int{2}},
		{"mine", "crash-safe: nobody holds the lock, and nobody can acquire it in time", []int{3}},
		{"other", "release-by-owner: DEL removed another client's lock", []int{4}},
	}, lines)
}

// TestCauseInWords: without a promise the anomaly is named, and a command that the definition does not begin with comes last.
func TestCauseInWords(t *testing.T) {
	require.Equal(t, "ghost-lock: the service holds the lock for a client that does not know it (SET)", findings.Cause{Name: checker.GhostLock, Command: "SET"}.String())
	require.Equal(t, "crash-safe: nobody holds the lock, and nobody can acquire it in time", findings.Cause{Name: checker.StuckLock, Promise: "crash-safe"}.String())
}
