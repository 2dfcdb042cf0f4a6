package rundir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
)

func TestRunRoundTrip(t *testing.T) {
	dir := t.TempDir()
	run := &record.Run{
		ID: "r1", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Seed: 42, World: "live", Command: []string{"run", "--seed", "42"},
		Cells: []record.Cell{{
			Lock: "getset", Scenario: "clock-ahead", Round: 1, Dir: "getset/clock-ahead", Took: time.Second,
			Verdict:  checker.Verdict{Kind: checker.Broken, Anomalies: []checker.Anomaly{{Name: checker.Overwrite, Clients: []string{"C2", "C1"}, At: 3, Events: []int{1}}}},
			Expected: record.Expectation{Verdict: checker.Verdict{Kind: checker.Broken, Anomalies: []checker.Anomaly{{Name: checker.Overwrite}}}, By: "matrix"},
		}},
	}
	require.NoError(t, WriteRun(dir, run))
	run.Finished = true
	require.NoError(t, WriteRun(dir, run))

	got, err := ReadRun(dir)
	require.NoError(t, err)
	run.Dir = dir
	assert.Equal(t, run, got)
	got, err = ReadRun(filepath.Join(dir, "run.json"))
	require.NoError(t, err)
	assert.Equal(t, run, got)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1, "no temporary file is left")
}

func TestReadRunSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.json")
	_, err := ReadRun(dir)
	assert.EqualError(t, err, path+": no such file or directory")

	require.NoError(t, os.WriteFile(path, []byte(`{"version":2}`), 0o600))
	_, err = ReadRun(dir)
	assert.EqualError(t, err, path+": version 2 of run.json; this lab reads version 1")

	require.NoError(t, os.WriteFile(path, []byte(`{"version":1,"cells":[{"lock":"l","scenario":"s","dir":"s/../../l.1"}]}`), 0o600))
	_, err = ReadRun(dir)
	assert.EqualError(t, err, path+`: the results of l/s would lie in "s/../../l.1", outside the run; restore the file, or run again`)

	require.NoError(t, os.WriteFile(path, []byte(`hello`), 0o600))
	_, err = ReadRun(dir)
	assert.ErrorContains(t, err, path+": not the run.json of a run: invalid character")

	require.NoError(t, os.Truncate(path, maxRunFile+1))
	_, err = ReadRun(dir)
	assert.EqualError(t, err, path+": 268435457 bytes are too many; at most 268435456 are read")

	_, err = ReadRun(os.DevNull)
	assert.EqualError(t, err, os.DevNull+": not a regular file")

	assert.ErrorContains(t, WriteRun(filepath.Join(dir, "missing"), &record.Run{}), filepath.Join("missing", "run.json")+": no such file")
}
