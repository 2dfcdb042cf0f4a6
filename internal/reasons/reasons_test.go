package reasons

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/scenarios"
)

func broken(names ...checker.Name) checker.Verdict {
	v := checker.Verdict{Kind: checker.Broken}
	for _, name := range names {
		v.Anomalies = append(v.Anomalies, checker.Anomaly{Name: name})
	}
	return v
}

// TestRepairsOfARun: what a run has seen is asked as the reviewed matrix is. A lock with a bug on its card is no repair, and one that the lab does not know is left out.
func TestRepairsOfARun(t *testing.T) {
	scripts, err := scenarios.Builtin("pause-past-lease", "holder-crashes")
	require.NoError(t, err)
	safe := checker.Verdict{Kind: checker.Safe}
	got := InRun(scripts, []Seen{
		{"setpx-lua", "pause-past-lease", broken(checker.DoubleHolder, checker.LostUpdate)},
		{"fenced", "pause-past-lease", broken(checker.DoubleHolder)},
		{"watchdog", "pause-past-lease", safe},
		{"setnx-del", "pause-past-lease", safe},
		{"setnx-del", "holder-crashes", broken(checker.StuckLock)},
		{"mine", "pause-past-lease", safe},
		{"setpx-lua", "holder-crashes", safe},
		{"watchdog", "holder-crashes", checker.Verdict{Kind: checker.NotApplicable}},
		{"setpx-lua", "no-such-scenario", safe},
	})
	assert.Equal(t, map[string]Repairs{
		"pause-past-lease": {
			Scenarios: 1, Stops: []Stop{{"watchdog", 1, 1}},
			Seems: []Seem{
				{"setnx-del", "holder-crashes", []checker.Name{checker.StuckLock}, false},
				{"fenced", "pause-past-lease", []checker.Name{checker.DoubleHolder}, true},
			},
		},
		"holder-crashes": {Scenarios: 1, Stops: []Stop{{"setpx-lua", 1, 1}}},
	}, got)
	assert.Empty(t, InRun(scripts, nil))
}

// TestTextsCanBeRead: each file, and each of its names has a text.
func TestTextsCanBeRead(t *testing.T) {
	entries, err := files.ReadDir("texts")
	require.NoError(t, err)
	for _, file := range entries {
		texts, names, err := ReadTexts(file.Name()[:len(file.Name())-len(".txt")])
		require.NoError(t, err, file.Name())
		require.NotEmpty(t, names, file.Name())
		for _, name := range names {
			assert.NotEmpty(t, texts[name].Lines, "%s: %s", file.Name(), name)
		}
	}
}
