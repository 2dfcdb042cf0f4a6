package grade_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/grade"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

func TestMain(m *testing.M) {
	lab.Serve()
	os.Exit(m.Run())
}

// sameMend are exercises that are mended as a later one is. The later solution is played, and judged for both.
var sameMend = map[string]string{"crash": "late-expiry", "plain-del": "check-then-delete"}

// fails has a scenario of each exercise's last chapter that the broken lock does not survive, and one that the common mistake does not.
var fails = map[string]struct{ broken, mistake string }{
	"crash":             {"holder-crashes", "holder-crashes"},
	"late-expiry":       {"crash-between-setnx-and-expire", "expiry-arrives-late"},
	"plain-del":         {"released-twice", "work-longer-than-lease"},
	"check-then-delete": {"stopped-between-check-and-delete", "stopped-between-check-and-delete"},
	"watchdog":          {"cut-off-past-lease", "renewal-after-release"},
	"fence":             {"pause-past-lease", "number-arrives-late"},
}

// cellsAtOnce is how many scenarios are played at a time: they mostly wait, and beside more of them a host stalls, which has them played again.
const cellsAtOnce = 16

// TestExercises: of each exercise the solution survives all chapters, in Python and in Go. The broken lock and the common mistake do not survive the last
// one, which the exercise is about.
func TestExercises(t *testing.T) {
	needs.Long(t, "the exercises, with their solutions and common mistakes")
	dir, err := filepath.Abs(filepath.Join("..", "..", "examples", "exercises"))
	require.NoError(t, err)
	t.Setenv("PYTHONPATH", filepath.Join(dir, "..", "..", "internal", "kits", "python"))
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	python := needs.RedisPy(t)
	var clients []client
	var cases []lab.Case
	for _, exercise := range grade.Exercises() {
		in, failing := filepath.Join(dir, "testdata", exercise.Name), fails[exercise.Name]
		clients = append(clients,
			client{exercise, "broken", []string{python, filepath.Join(dir, exercise.Name, "client.py")}, failing.broken},
			client{exercise, "mistake", []string{python, filepath.Join(in, "mistake.py")}, failing.mistake},
			client{exercise, "mistake-in-go", []string{built(t, filepath.Join(in, "mistake.go"))}, failing.mistake})
		if sameMend[exercise.Name] == "" {
			clients = append(clients,
				client{exercise, "solution", []string{python, filepath.Join(in, "solution.py")}, ""},
				client{exercise, "solution-in-go", []string{built(t, filepath.Join(in, "solution.go"))}, ""})
		}
	}
	for _, c := range clients {
		cases = append(cases, c.cases(t)...)
	}
	run, err := lab.Run(t.Context(), lab.Plan{Cases: cases, Options: lab.Options{Setting: lab.Setting{World: lab.Live}, Parallel: cellsAtOnce}})
	require.NoError(t, err)
	for _, c := range clients {
		cells := slices.DeleteFunc(slices.Clone(run.Cells), func(cell record.Cell) bool { return cell.Lock != c.name() })
		if c.fails != "" {
			results := c.Judge(cells)
			last := results[len(results)-1]
			assert.Equal(t, grade.Failed, last.Outcome, "%s: %s: %s", c.name(), c.fails, last.Why)
			continue
		}
		for _, exercise := range grade.Exercises() {
			if exercise.Name == c.Name || sameMend[exercise.Name] == c.Name {
				results := exercise.Judge(cells)
				assert.Equal(t, grade.Survived, grade.Worst(results), "%s: %v", c.name(), results)
			}
		}
	}
}

// client is one of those who do an exercise.
type client struct {
	grade.Exercise
	what  string
	argv  []string
	fails string // a scenario that it does not survive; empty: the exercise is mended
}

func (c client) name() string { return c.Name + "-" + c.what }

// cases are the scenarios that say what is expected of the client: all of its exercise, or the one that it does not survive.
func (c client) cases(t *testing.T) []lab.Case {
	t.Helper()
	scripts, err := c.Scripts()
	require.NoError(t, err)
	if c.fails != "" {
		script, found := scenarios.Find(scripts, c.fails)
		require.True(t, found, c.fails)
		scripts = []*scenarios.Script{script}
	}
	subject, err := lab.Meet(t.Context(), lab.Setting{}, play.Subject{Name: c.name(), Argv: c.argv}, scripts...)
	require.NoError(t, err)
	subject.Name = c.name() // all say mylock
	return lab.Cases(scripts, []play.Subject{subject}, 1, anything)
}

// built is the program of one file.
func built(t *testing.T, file string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "client")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}
