package main

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/look"
	"github.com/locklab/locklab/internal/explain"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/report/format"
)

// listed are the entries of lab list --json.
func listed[T any](t *testing.T, kind string) (all []T) {
	t.Helper()
	var out, stderr bytes.Buffer
	require.Equal(t, cli.CodeExpected, carryOut(t.Context(), []string{"list", kind, "--json"}, strings.NewReader(""), &out, &stderr), stderr.String())
	require.NoError(t, json.Unmarshal(out.Bytes(), &all))
	return all
}

// listKinds are what lab list lists.
func listKinds(t *testing.T) []string {
	t.Helper()
	list, _, err := newRoot().Find([]string{"list"})
	require.NoError(t, err)
	return list.ValidArgs
}

// TestEachListedNameHasAScreen: whatever lab list prints is explained on one screen.
func TestEachListedNameHasAScreen(t *testing.T) {
	index, err := explain.New()
	require.NoError(t, err)
	part := needs.Count(t, "twentieths of the names", 1, 20)
	for _, kind := range listKinds(t) {
		entries := listed[struct{ Lock, Scenario, Workload, Anomaly, Fault, Promise, Form, Word, ID, Code string }](t, kind)
		require.NotEmpty(t, entries)
		for i, entry := range entries {
			name := map[string]string{
				"locks": entry.Lock, "scenarios": entry.Scenario, "workloads": entry.Workload, "anomalies": entry.Anomaly, "faults": entry.Fault, "promises": entry.Promise,
				"words": entry.Form + "/" + entry.Word, "sources": entry.ID, "exit-codes": entry.Code,
			}[kind]
			e, found := index.Find(name)
			if !assert.True(t, found, "lab list %s names %s", kind, name) || i%20 >= part {
				continue
			}
			var b bytes.Buffer
			require.NoError(t, look.ExplainName(t.Context(), &b, format.UsualWidth, e, false))
			lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
			assert.LessOrEqual(t, len(lines), 40, "%s:\n%s", name, b.String())
			for _, line := range lines {
				if utf8.RuneCountInString(line) > 80 { // an address or a name that cannot be broken
					longest := slices.MaxFunc(strings.Fields(line), func(a, b string) int { return len(a) - len(b) })
					assert.Greater(t, len(longest), 60, "%s: %s", name, line)
				}
			}
			assert.True(t, strings.HasPrefix(lines[0], e.Name.Name+" ("), "%s: what it is comes first", name)
		}
	}
}

// TestNamesWithinEntriesAreExplained: so is what the entries of lab list --json name besides.
func TestNamesWithinEntriesAreExplained(t *testing.T) {
	index, err := explain.New()
	require.NoError(t, err)
	seen := map[string]bool{}
	explained := func(name string) {
		if !seen[name] {
			_, found := index.Find(name)
			assert.True(t, found, name)
		}
		seen[name] = true
	}
	for _, lock := range listed[struct {
		Lock     string
		Bugs     []struct{ Bug string }
		Promises []string
	}](t, "locks") {
		for _, bug := range lock.Bugs {
			explained("lock/" + lock.Lock + "/" + bug.Bug)
		}
		for _, promise := range lock.Promises {
			explained("promise/" + promise)
		}
	}
	for _, fault := range listed[struct {
		Recorded string
		Needs    []string
	}](t, "faults") {
		explained("fault/" + fault.Recorded)
		for _, need := range fault.Needs {
			explained("capability/" + need)
		}
	}
	for _, s := range listed[struct {
		Expected map[string]string
		Troubles []struct{ Lock string }
	}](t, "scenarios") {
		for _, verdict := range s.Expected {
			for name := range strings.SplitSeq(verdict, ", ") {
				name, _, _ = strings.Cut(name, ":")
				explained(name)
				if name == string(checker.NotApplicable) {
					break // what follows is a reason
				}
			}
		}
		for _, trouble := range s.Troubles {
			explained(trouble.Lock)
		}
	}
	assert.Greater(t, len(seen), 100)
}

// TestExitCodesAreThoseOfTheCommand: the texts are about the codes that the command ends with.
func TestExitCodesAreThoseOfTheCommand(t *testing.T) {
	var codes []int
	for _, code := range explain.ExitCodes() {
		n, err := strconv.Atoi(code[0])
		require.NoError(t, err)
		codes = append(codes, n)
	}
	assert.Equal(t, []int{cli.CodeExpected, cli.CodeSurprise, cli.CodeUnknown, cli.CodeFailed, cli.CodeNothing, cli.CodeUsage, (&cli.Interrupted{Signal: os.Interrupt}).Code()}, codes)
}

// TestNamesInJSON: --json has what the screen has, and the locks of the lists have those of its bugs.
func TestNamesInJSON(t *testing.T) {
	var b bytes.Buffer
	index, err := explain.New()
	require.NoError(t, err)
	e, _ := index.Find("getset-published/short-lease")
	require.NoError(t, look.ExplainName(t.Context(), &b, 0, e, true))
	var said struct {
		Kind, Name, What string
		Why              []string
		Cell             struct{ Lock, Scenario, Command string }
		Story            struct{ Finding string }
		Seems            []struct{ Lock, Scenario string }
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &said))
	assert.Equal(t, "lock", said.Kind)
	assert.Equal(t, "asked-for-half-a-lease", said.Cell.Scenario)
	assert.NotEmpty(t, said.Story.Finding)
	assert.NotEmpty(t, said.Seems)
	assert.True(t, slices.ContainsFunc(index.Names(), func(n explain.Name) bool { return n.Name == said.Name }))
}
