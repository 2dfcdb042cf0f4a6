//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/lab"
)

// TestPipesAreRefused: to open a pipe takes until somebody opens its other end, so the lab opens none that it is given for a file.
func TestPipesAreRefused(t *testing.T) {
	dir := t.TempDir()
	runs := map[string]string{"packed": lab.PackFile, "index": "run.json", "history": "take-turns/setpx-lua.1/history.jsonl", "whole": ""}
	for name, pipe := range runs {
		code, said := inDir(t, dir, "run", "take-turns", "--lock", "setpx-lua", "--world", "sim", "--out", name)
		require.Equal(t, cli.CodeExpected, code, said)
		if pipe != "" {
			pipe = filepath.Join(dir, name, filepath.FromSlash(pipe))
			require.NoError(t, os.RemoveAll(pipe))
			require.NoError(t, syscall.Mkfifo(pipe, 0o600))
		}
	}
	// The pack is asked for what is not beside it.
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "packed", "take-turns")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.lab"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "scenarios"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "scenarios", "expected.txt"), 0o600))
	for _, args := range []string{
		"run pipe.lab --world sim", "show pipe.lab", "storm --for 1s --lock setpx-lua --junit pipe.lab",
		"run take-turns --world sim --baseline pipe.lab", "run take-turns --world sim --baseline index", "run take-turns --world sim --junit pipe.lab",
		"run take-turns --update",
		"explore setpx-lua --out pipe.lab", "shrink whole --out pipe.lab",
		"check pipe.lab", "check packed", "check index", "check history",
		"explain pipe.lab", "explain packed", "explain index", "explain history",
		"shrink pipe.lab", "shrink packed", "shrink index", "shrink history",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			code, said := inDir(t, dir, strings.Fields(args)...)
			assert.Equal(t, cli.CodeUsage, code, said)
			assert.Contains(t, said, "not a regular file")
			assert.Equal(t, 1, strings.Count(said, "\n"), said)
		})
	}
}

// inDir runs the lab in a directory, and bounds how long it may take.
func inDir(t *testing.T, dir string, args ...string) (code int, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "lab", args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GORACE=atexit_sleep_ms=0")
	var said strings.Builder
	cmd.Stderr = &said
	_ = cmd.Run() // its exit code says it
	require.NoError(t, ctx.Err(), "it hangs")
	return cmd.ProcessState.ExitCode(), said.String()
}
