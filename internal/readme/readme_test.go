// Package readme keeps what the README and the pages in docs show true. It has tests only.
package readme

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
)

var update = flag.Bool("update", false, "rewrite what is generated in the README and in docs")

const (
	readme = "../../README.md"
	end    = "<!-- end of what is generated -->\n"

	// What is generated, and from which reviewed file.
	fromMatrix      = "scenarios/expected.txt"
	fromRuns        = "runs in the model"
	fromPoints      = "internal/sim/points/breaking.txt"
	fromSigns       = "internal/report/exploration/points.go"
	fromSources     = "scenarios/sources.go"
	fromChecker     = "checker/verdict.go"
	fromCatalogue   = "faults/catalogue.go"
	fromAssumptions = "internal/sim/search/assumptions.go"
	fromAttacks     = "internal/hostile/hostile.go"
)

// holdPart holds the part of a page that is generated from a reviewed file against what it should be, or rewrites it.
func holdPart(t *testing.T, path, from, want string) {
	t.Helper()
	begin := "<!-- generated from " + from + " by go test ./internal/readme -update -->\n"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "%s has lost the line %q", path, begin)
	got, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "%s has lost the line %q", path, end)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(before+begin+want+end+after), 0o644))
		return
	}
	require.Equal(t, want, got, "%s does not show %s; run: go test ./internal/readme -update", path, from)
}

// TestLength holds the README to what a reader takes in: at most 200 lines, of which the first 40 have the commands and the picture of a race.
func TestLength(t *testing.T) {
	lines := strings.Split(pageText(t, readme), "\n")
	require.LessOrEqual(t, len(lines), 201)
	begin := strings.Join(lines[:40], "\n")
	for _, needed := range []string{"$ go run ./cmd/lab run\n", "setpx-lua, pause: C1 was paused", "go run ./cmd/lab explore setpx-lua --clients 2 --pauses 1"} {
		require.Contains(t, begin, needed)
	}
}

// TestAnomalies holds docs/tables/anomalies.md against the checker.
func TestAnomalies(t *testing.T) {
	text := "| anomaly | meaning |\n| --- | --- |\n"
	for _, d := range checker.Definitions() {
		text += fmt.Sprintf("| %s | %s |\n", d.Name, d.Meaning)
	}
	holdPart(t, "../../docs/tables/anomalies.md", fromChecker, text)
}

// TestFaults holds docs/tables/faults.md against the catalogue.
func TestFaults(t *testing.T) {
	text := "| fault | what it is | script | explorer | history |\n| --- | --- | --- | --- | --- |\n"
	for _, f := range faults.All() {
		script, flag := code(f.Begins), ""
		if f.Ends != "" {
			script += " … " + code(f.Ends)
		}
		if f.Flag != "" {
			flag = code("--" + f.Flag)
		}
		text += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", f.Kind, f.Meaning, script, flag, f.Recorded)
	}
	holdPart(t, "../../docs/tables/faults.md", fromCatalogue, text)
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func pageText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
