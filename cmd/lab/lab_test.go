package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/scenarios"
)

func TestExitCode(t *testing.T) {
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(&interrupted{})
	for name, test := range map[string]struct {
		ctx  context.Context
		err  error
		want int
	}{
		"usage":                 {t.Context(), errors.Join(usagef("no"), errors.New("and more")), codeUsage},
		"script":                {t.Context(), scenarios.Errors{{File: "a.lab", Line: 1, What: "no"}}, codeUsage},
		"nothing":               {t.Context(), &nothingError{"empty"}, codeNothing},
		"said already":          {t.Context(), &outcome{codeSurprise}, codeSurprise},
		"anything else":         {t.Context(), errors.New("out of luck"), codeFailed},
		"terminated by SIGTERM": {ended, context.Canceled, 143},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, exitCode(test.ctx, test.err))
		})
	}
}

// The parts of a run have every cell in exactly one of them.
func TestShards(t *testing.T) {
	names := func(shard string) []string {
		f := &runFlags{count: 2, shard: shard, workload: "counter"}
		f.Setting = lab.Setting{Timeout: 1, Server: live.Embedded}
		p, _, err := f.plan(nil, nil)
		require.NoError(t, err)
		part, err := parseShard(shard)
		require.NoError(t, err)
		var names []string
		for _, c := range part.Cases(p.Cases) {
			names = append(names, fmt.Sprintf("%s/%s/%d", c.Subject.Name, c.Script.Name, c.Round))
		}
		return names
	}
	all := names("")
	slices.Sort(all)
	for _, n := range []int{1, 2, 7} {
		var parts []string
		for i := range n {
			part := names(fmt.Sprintf("%d/%d", i+1, n))
			assert.InEpsilon(t, float64(len(all))/float64(n), len(part), 0.2, "parts are of about one size")
			parts = append(parts, part...)
		}
		slices.Sort(parts) // ElementsMatch compares each with each
		assert.Equal(t, all, parts)
	}
}

func TestWriteTable(t *testing.T) {
	rows := [][]string{{"A", "B", "WORDS"}, {"long one", "é", "one two three four five six seven eight nine ten"}, {"x", "", ""}}
	for name, test := range map[string]struct {
		width int
		want  string
	}{
		"wide": {80, "  A         B  WORDS\n  long one  é  one two three four five six seven eight nine ten\n  x\n"},
		"narrow": {46, "  A         B  WORDS\n  long one  é  one two three four five six\n" +
			strings.Repeat(" ", 15) + "seven eight nine ten\n  x\n"},
		"hopeless": {20, "  A         B  WORDS\n  long one  é  one two\n" + strings.Repeat(" ", 15) + "three four\n" + strings.Repeat(" ", 15) + "five six\n" + strings.Repeat(" ", 15) + "seven eight\n" + strings.Repeat(" ", 15) + "nine ten\n  x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			require.NoError(t, writeTable(&out, test.width, "  ", rows))
			assert.Equal(t, test.want, out.String())
		})
	}
}

func TestDoctorFindsWhatIsMissing(t *testing.T) {
	findings := []finding{
		{what: "redis-server", word: "redis", err: errors.New("not found"), remedy: "get it"},
		{what: "python3", word: "python", version: "3"},
		{what: "processes", version: "yes"},
	}
	assert.Equal(t, []string{"missing", "redis-server", "", "not found; get it"}, findings[0].row())
	assert.Equal(t, [][]string{{"redis", "missing, required"}, {"python", "ok"}, {"bananas", "required, but no test knows it"}},
		requirements(findings, []string{"redis", "bananas"}))
}

func TestServerValues(t *testing.T) {
	for value, good := range map[string]bool{
		live.Embedded: true, live.RedisServer: true, "127.0.0.1:6379": true, "[::1]:6379": true, "redis:6379": true,
		"": false, "embeded": false, ":6379": false, "redis:99999": false,
	} {
		f := &settingFlags{Setting: lab.Setting{Server: value}}
		assert.Equal(t, good, f.checkServer() == nil, value)
	}
}

// What go run builds is called by go run, wherever its cache is.
func TestInvocation(t *testing.T) {
	hash := strings.Repeat("3089c753b8dcce5d", 4)
	for program, want := range map[string]string{
		"/tmp/go-build1161/b001/exe/lab":              "go run ./cmd/lab",
		"/root/.cache/go-build/30/" + hash + "-d/lab": "go run ./cmd/lab",
		"/elsewhere/30/" + hash + "-d/lab":            "go run ./cmd/lab",
		"/home/me/go/bin/lab":                         "/home/me/go/bin/lab",
		"./lab":                                       "./lab",
	} {
		assert.Equal(t, want, invocation(program), program)
	}
}
