package search

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/needs"
)

// answer is a line of a table of tests: what a search is asked of a lock, and what it is to answer.
//
//	LOCK CLIENTSxROUNDS [FAULT…] [OPTION=VALUE…] VERB [ANOMALY…] [: TEXT]
//
// VERB is finds: a counterexample of exactly these faults; holds: none within the bounds; doubts: none, and it says TEXT; refuses: with an error
// that says TEXT. No anomaly: all are looked for. A line that begins with ~ takes long.
type answer struct {
	line, lock string
	config     Config
	verb, text string
	faults     []faults.Kind
	long       bool
}

func answerOf(t *testing.T, line string) answer {
	t.Helper()
	a := answer{line: line, config: Config{Budget: Budget{}}}
	line, a.text, _ = strings.Cut(line, ": ")
	line, a.long = strings.CutPrefix(line, "~")
	words := strings.Fields(line)
	a.lock = words[0]
	c := &a.config
	_, err := fmt.Sscanf(words[1], "%dx%d", &c.Clients, &c.Rounds)
	require.NoError(t, err, line)
	for _, word := range words[2:] {
		option, value, isOption := strings.Cut(word, "=")
		switch {
		case a.verb != "":
			c.Only = append(c.Only, checker.Name(word))
		case isOption:
			a.set(t, option, value)
		case slices.Contains([]string{"finds", "holds", "doubts", "refuses"}, word):
			a.verb = word
		default:
			require.Contains(t, Faults(), faults.Kind(word), line)
			c.Budget[faults.Kind(word)]++
			a.faults = append(a.faults, faults.Kind(word))
		}
	}
	require.NotEmpty(t, a.verb, line)
	require.Subset(t, Anomalies(), c.Only, line)
	return a
}

func (a *answer) set(t *testing.T, option, value string) {
	t.Helper()
	n, err := strconv.ParseFloat(value, 64)
	require.NoError(t, err, a.line)
	switch c := &a.config; option {
	case "again":
		c.ReleaseAgain = n > 0
	case "reenter":
		c.Reenter = int(n)
	case "tries":
		c.Tries = int(n)
	case "lag":
		c.Lag = int(n)
	case "rate":
		c.ClockRate = n
	case "skew":
		c.Skew = time.Duration(n) * time.Second
	case "servers":
		c.Servers = int(n)
	default:
		require.Fail(t, "no such option", a.line)
	}
}

func (a *answer) check(t *testing.T, spec impls.Spec) {
	t.Helper()
	c := a.config
	c.Lock = spec
	c = c.Usual()
	r, err := Search(t.Context(), c)
	if a.verb == "refuses" {
		require.ErrorContains(t, err, a.text)
		return
	}
	require.NoError(t, err)
	t.Log(r.States, "states", r.Took)
	if a.verb == "finds" {
		require.NotNil(t, r.Found, "%s %s, %d states", r.Limit, r.Doubt, r.States)
		assert.NotEmpty(t, r.Found.Anomalies)
		assert.Subset(t, r.Found.Verdict.Names(), r.Found.Anomalies)
		assert.Subset(t, c.wanted(), r.Found.Anomalies)
		got, want := slices.Sorted(slices.Values(r.Found.Faults)), slices.Sorted(slices.Values(a.faults))
		assert.Equal(t, want, got, "with other faults it is found, too")
		return
	}
	if r.Found != nil {
		require.Fail(t, "accused", "%v", r.Found.Verdict.Anomalies)
	}
	assert.Empty(t, r.Limit)
	if a.verb == "doubts" {
		assert.Contains(t, r.Doubt, a.text)
		assert.NotEmpty(t, r.Doubt)
		assert.False(t, r.Complete())
		return
	}
	assert.True(t, r.Complete(), r.Doubt)
	if c.Clients > 1 {
		assert.Subset(t, r.Coverage, []string{"held", "handed over"})
	}
}

// answers checks a table of them. Empty lines, and those that begin with #, are for its reader.
func answers(t *testing.T, table string, find func(t *testing.T, name string) impls.Spec) {
	t.Helper()
	for line := range strings.Lines(table) {
		line, comment, _ := strings.Cut(strings.TrimSpace(line), "#")
		if line == "" {
			continue
		}
		a := answerOf(t, line)
		t.Run(strings.Join(strings.Fields(strings.TrimPrefix(line, "~")+comment), " "), func(t *testing.T) {
			if a.long {
				needs.Long(t, "a long search")
			}
			t.Parallel()
			a.check(t, find(t, a.lock))
		})
	}
}
