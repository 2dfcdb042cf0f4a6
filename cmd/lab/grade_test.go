package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/needs"
)

// gradesAtOnce is how many clients are graded at a time: their scenarios mostly wait.
const gradesAtOnce = 4

// TestLocksThatCheat: a lock that locks nothing, or gets nothing done, is not passed, whatever the exercise.
func TestLocksThatCheat(t *testing.T) {
	needs.Long(t, "clients that want to be passed without a lock")
	t.Parallel()
	python := needs.RedisPy(t)
	clients := map[string]string{}
	for what, lock := range map[string]string{
		"never contends":     `key = "own:" + uuid.uuid4().hex; return self.redis.set(key, "x", nx=True, px=1000) is not None`,
		"refuses everything": `return self.redis.get(self.key) == "never"`,
		"does not know":      `raise OSError("who knows")`,
		"never returns":      `time.sleep(3600)`,
		"is valid for 1 ms":  `return self.redis.set(self.key, "x", px=1000) and 0.001`,
	} {
		path := filepath.Join(t.TempDir(), "client.py")
		require.NoError(t, os.WriteFile(path, []byte(fmt.Sprintf(cheat, strings.ReplaceAll(lock, "; ", "\n        "))), 0o600))
		clients[what] = python + " " + path
	}
	allFail(t, clients)
}

// cheat is a client whose acquire is left out.
const cheat = `
import time, uuid
import redis, locklab

class Lock:
    def __init__(self, servers, key, lease):
        self.key, self.redis = key, redis.Redis(*servers[0], decode_responses=True, single_connection_client=True)

    def acquire(self):
        %s

    def release(self):
        return self.redis.delete(self.key) == 1

    def ping(self):
        self.redis.ping()

locklab.serve(Lock, name="mylock")
`

// TestExerciseInGo: what --new writes in Go can be built and graded, in a module of its own.
func TestExerciseInGo(t *testing.T) {
	needs.Long(t, "an exercise begun in Go")
	t.Parallel()
	dir := t.TempDir()
	labIn(t, dir, "grade", "crash", "--new", "mylock", "--language", "go")
	build := exec.Command("go", "build", "-mod=mod", "-o", "client", ".")
	build.Dir = filepath.Join(dir, "mylock")
	if out, err := build.CombinedOutput(); err != nil {
		needs.Part(t, "go", fmt.Errorf("%w\n%s", err, out))
	}
	allFail(t, map[string]string{"the broken lock in Go": filepath.Join(dir, "mylock", "client")})
}

// TestListOfExercisesInDocs: docs/exercises.md shows what lab grade prints.
func TestListOfExercisesInDocs(t *testing.T) {
	assert.Contains(t, exercisesPage(t), "\n$ lab grade\n"+labIn(t, t.TempDir(), "grade")+"```")
}

// TestGradeInDocs: docs/exercises.md shows what the grade of a broken lock prints.
func TestGradeInDocs(t *testing.T) {
	needs.Long(t, "an exercise begun in Python, as docs/exercises.md shows it")
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Symlink(needs.RedisPy(t), filepath.Join(dir, "python3")))
	labIn(t, dir, "grade", "crash", "--new", "mylock")
	out := labIn(t, dir, "grade", "crash", "--", "python3", "mylock/client.py")
	assert.Contains(t, exercisesPage(t), "\n$ lab grade crash -- python3 mylock/client.py\n"+out+"```")
}

func exercisesPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "exercises.md"))
	require.NoError(t, err)
	return string(page)
}

// labIn is what the lab prints when it is called in a directory.
func labIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "lab", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "COLUMNS=80", "PYTHONDONTWRITEBYTECODE=1", "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != cli.CodeSurprise { // a lock that does not survive
		require.NoError(t, err)
	}
	return string(out)
}

// allFail grades clients in the first exercise, side by side: none passes.
func allFail(t *testing.T, clients map[string]string) {
	t.Helper()
	slots := make(chan struct{}, gradesAtOnce)
	var wg sync.WaitGroup
	for what, client := range clients {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			cmd := exec.CommandContext(t.Context(), "lab", "grade", "crash", "--client", client, "--out", filepath.Join(t.TempDir(), "out"))
			kit, err := filepath.Abs(filepath.Join("..", "..", "internal", "kits", "python"))
			assert.NoError(t, err)
			cmd.Env = append(os.Environ(), "PYTHONPATH="+kit, "PYTHONDONTWRITEBYTECODE=1")
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			code := 0
			if errors.As(err, &exit) {
				code = exit.ExitCode()
			} else {
				assert.NoError(t, err)
			}
			assert.Equal(t, cli.CodeSurprise, code, "%s\n%s", what, out)
		})
	}
	wg.Wait()
}
