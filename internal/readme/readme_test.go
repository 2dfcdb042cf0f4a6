// Package readme keeps what the README shows true. It has tests only.
package readme

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/report"
	"github.com/locklab/locklab/scenarios"
)

var update = flag.Bool("update", false, "rewrite the matrix in the README")

const (
	readme = "../../README.md"
	begin  = "<!-- matrix: generated from scenarios/expected.txt by go test ./internal/readme -update -->\n"
	end    = "<!-- end of matrix -->\n"
)

// TestMatrix holds the README's table against the reviewed matrix.
func TestMatrix(t *testing.T) {
	want := matrix(t)
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "the README has lost the line %q", begin)
	got, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "the README has lost the line %q", end)
	if *update {
		require.NoError(t, os.WriteFile(readme, []byte(before+begin+want+end+after), 0o644))
		return
	}
	require.Equal(t, want, got, "the matrix in the README is not the reviewed one; run: go test ./internal/readme -update")
}

// matrix renders the expected verdicts as if a run had just given them.
func matrix(t *testing.T) string {
	t.Helper()
	expected, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	run := &checker.Run{Finished: true}
	for _, script := range scripts {
		for _, spec := range impls.All() {
			e, ok := expected.Lookup(script.Name, spec.Name)
			require.True(t, ok, "%s in %s is not in the matrix", spec.Name, script.Name)
			run.Cells = append(run.Cells, checker.Cell{
				Lock: spec.Name, Scenario: script.Name, Round: 1, Verdict: e.Verdict, Expected: e,
			})
		}
	}
	var out strings.Builder
	require.NoError(t, report.Markdown(&out, run))
	table, _, _ := strings.Cut(out.String(), "\n\n")
	return table + "\n"
}

// TestScript holds the README's example against the parser.
func TestScript(t *testing.T) {
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "```\n# Two clients judge")
	require.True(t, ok, "the README has lost its example of a script")
	script, _, _ := strings.Cut(rest, "```")
	_, err = scenarios.Parse("README.md", []byte("# Two clients judge"+script))
	require.NoError(t, err)
}

// TestFilledIn asserts that every place left open for the output of a run has got it.
func TestFilledIn(t *testing.T) {
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	for i, line := range strings.Split(string(text), "\n") {
		require.NotContains(t, line, "RUN-", "README.md:%d", i+1)
	}
}
