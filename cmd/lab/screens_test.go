package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/scenarios"
)

// TestScreensFit: into a pipe, or a terminal that does not tell its width, no line of a screen has more than 80 columns. Messages about mistakes are lines of their own.
func TestScreensFit(t *testing.T) {
	t.Setenv("COLUMNS", "")
	t.Chdir(filepath.Join("..", "..")) // the sources, of which lab adapters tells
	kept := t.TempDir()
	in := func(name string) string { return filepath.Join(kept, name) }
	called := os.Args
	t.Cleanup(func() { os.Args = called })
	fits := func(args ...string) {
		t.Helper()
		os.Args = append([]string{"lab"}, args...) // screens tell how to repeat it
		var stdout, stderr bytes.Buffer
		carryOut(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
		require.NotEmpty(t, stdout.String(), stderr.String())
		for line := range strings.Lines(stdout.String()) {
			line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), kept, "runs") // nothing folds a path
			assert.LessOrEqual(t, utf8.RuneCountInString(line), format.UsualWidth, "lab %s:\n%s", strings.Join(args, " "), line)
		}
	}
	var helps func(cmd *cobra.Command, path ...string)
	helps = func(cmd *cobra.Command, path ...string) {
		fits(append(path, "--help")...)
		for _, sub := range cmd.Commands() {
			helps(sub, append(path, sub.Name())...)
		}
	}
	root := newRoot()
	root.InitDefaultHelpCmd()
	helps(root)
	for _, kind := range listKinds(t) {
		fits("list", kind)
	}
	builtin, err := scenarios.Builtin()
	require.NoError(t, err)
	names := append(naming.ScenarioNames(builtin), naming.LockNames(impls.Every())...)
	part := needs.Count(t, "twentieths of the screens", 1, 20)
	for i, name := range names {
		if i%20 < part || name == "pause-past-lease" {
			fits("show", name)
		}
	}
	fits("find", "pause")
	fits("find", "redisson")
	fits("explore", "setpx-del", "--pauses", "1")

	fits("run", "pause-past-lease", "redis-restarts-empty", "--lock", "setnx-expire-published,setpx-del,redlock,fenced", "--world", "sim", "--out", in("one"), "-v")
	fits("run", "pause-past-lease", "--lock", "setnx-expire-published", "--world", "sim", "--out", in("two"))
	fits("check", in("one"))
	fits("check", in("one"), "-v")
	fits("diff", in("one"), in("two"))
	fits("explain", in("one"))
	fits("explain", in("one"), "redlock/redis-restarts-empty")
	if part > 1 {
		fits("run", "--world", "sim", "--out", in("tour"))
		fits("run", "pause-past-lease", "check-after-takeover", "--world", "sim", "--out", in("all"), "-v")
		for _, spec := range impls.All() {
			fits("explain", in("all"), spec.Name+"/pause-past-lease")
		}
		fits("explore", "setpx-del", "--pauses", "1", "-v")
		fits("adapters")
		fits("adapters", "redsync-once")
		fits("doctor")
	}
}
