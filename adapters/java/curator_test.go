// Package java tests the client in Java: it compiles it, and plays the reviewed table with it.
package java

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/adaptertest"
	"github.com/locklab/locklab/internal/faults/server/zookeeper"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
)

// cellsAtOnce is how many cells are in flight: a Java process is expensive to start, and serves one cell after another.
const cellsAtOnce = 10

// client is the client, compiled once; empty: it has not been.
var client string

func TestMain(m *testing.M) {
	lab.Serve()
	code := m.Run()
	if client != "" {
		_ = os.RemoveAll(filepath.Dir(client)) // below the system's temporary directory
	}
	os.Exit(code)
}

// few are the cells that -short plays: one of each lock, and the one that only Curator's count in memory breaks.
var few = [...]string{"curator/take-turns", "curator-suspended/cut-off-past-lease", "curator-fenced/pause-past-lease", "curator/taken-again-after-loss"}

// TestScenarios: every cell of the reviewed table comes out as it says.
func TestScenarios(t *testing.T) {
	build(t)
	adaptertest.Table{
		Server: live.ZooKeeper, Locks: []string{"curator", "curator-suspended", "curator-fenced"},
		Client:   func(lock string) []string { return []string{client, "-lock", lock} },
		Parallel: cellsAtOnce, Short: few[:],
	}.Play(t)
}

// TestConforms: the client keeps to the protocol.
func TestConforms(t *testing.T) {
	if testing.Short() {
		t.Skip("35 conversations take a dozen Java processes")
	}
	build(t)
	subject := play.Subject{Name: "curator", Argv: []string{client}}
	checked, err := lab.Conform(t.Context(), lab.Setting{Server: live.ZooKeeper}, subject)
	require.NoError(t, err)
	for _, result := range checked.Results {
		assert.Nil(t, result.Breach, result.Name)
	}
}

// TestNeedsAZooKeeper: with a Redis it says so at once.
func TestNeedsAZooKeeper(t *testing.T) {
	build(t)
	_, err := lab.Meet(t.Context(), lab.Setting{}, play.Subject{Argv: []string{client}})
	require.ErrorContains(t, err, "this lock needs servers of the kind zookeeper")
}

func TestWrongArguments(t *testing.T) {
	build(t)
	out, err := exec.Command(client, "-lock", "redis").CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 64, exit.ExitCode())
	require.Contains(t, string(out), "curator-fenced")
}

// build compiles the client, once. It skips the test where something for it is missing, unless that is required.
func build(t *testing.T) {
	t.Helper()
	if client != "" {
		return
	}
	_, _, err := zookeeper.Find()
	if _, none := exec.LookPath("javac"); none != nil {
		err = errors.Join(err, errors.New("no javac; install Debian's package default-jdk-headless"))
	}
	if _, none := os.Stat("/usr/share/java/curator-recipes.jar"); none != nil {
		err = errors.Join(err, errors.New("no Curator; install Debian's package libcurator-recipes-java"))
	}
	needs.Part(t, "curator", err)
	dir, err := os.MkdirTemp("", "curator-client-")
	require.NoError(t, err)
	out, err := exec.Command("./build", dir).CombinedOutput()
	require.NoError(t, err, string(out))
	client = filepath.Join(dir, "client")
}
