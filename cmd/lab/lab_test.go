package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/cmd/lab/internal/option"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

func TestExitCode(t *testing.T) {
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(&cli.Interrupted{})
	for name, test := range map[string]struct {
		ctx  context.Context
		err  error
		want int
	}{
		"usage":                 {t.Context(), errors.Join(cli.Usagef("no"), errors.New("and more")), cli.CodeUsage},
		"script":                {t.Context(), scenarios.Errors{{File: "a.lab", Line: 1, What: "no"}}, cli.CodeUsage},
		"nothing":               {t.Context(), cli.Nothingf("empty"), cli.CodeNothing},
		"said already":          {t.Context(), cli.Exit(cli.CodeSurprise), cli.CodeSurprise},
		"anything else":         {t.Context(), errors.New("out of luck"), cli.CodeFailed},
		"terminated by SIGTERM": {ended, context.Canceled, 143},
	} {
		t.Run(name, func(t *testing.T) {
			root := &cobra.Command{Use: "lab", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return test.err }}
			assert.Equal(t, test.want, cli.Execute(test.ctx, root, nil, strings.NewReader(""), io.Discard, io.Discard))
		})
	}
}

// The parts of a run have every cell in exactly one of them.
func TestShards(t *testing.T) {
	scripts, err := naming.Scripts(nil)
	require.NoError(t, err)
	subjects, err := naming.Subjects(naming.LockNames(impls.All()))
	require.NoError(t, err)
	cases := lab.Cases(scripts, subjects, 2, func(*scenarios.Script, play.Subject) record.Expectation { return record.Expectation{} })
	names := func(shard option.Shard) []string {
		part, err := shard.Parse()
		require.NoError(t, err)
		return cli.Map(part.Cases(cases), func(c lab.Case) string {
			return fmt.Sprintf("%s/%s/%d", c.Subject.Name, c.Script.Name, c.Round)
		})
	}
	all := names("")
	slices.Sort(all)
	for _, n := range []int{1, 2, 7} {
		var parts []string
		for i := range n {
			part := names(option.Shard(fmt.Sprintf("%d/%d", i+1, n)))
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
			require.NoError(t, cli.WriteTable(&out, test.width, "  ", rows))
			assert.Equal(t, test.want, out.String())
		})
	}
}

// Without programs, the doctor says what is missing and how to get it, and what tests that require it will say.
func TestDoctorFindsWhatIsMissing(t *testing.T) {
	t.Setenv("COLUMNS", "200")
	t.Setenv("PATH", t.TempDir())
	require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("PATH"), "etcd"), []byte("#!/bin/sh\necho etcd Version: 3.4\n"), 0o755))
	t.Setenv("LOCKLAB_REQUIRE", "redis,bananas")
	var stdout, stderr bytes.Buffer
	assert.Equal(t, cli.CodeExpected, carryOut(t.Context(), []string{"doctor"}, strings.NewReader(""), &stdout, &stderr), stderr.String())
	for _, line := range []string{
		`ok +embedded Redis +every run +miniredis \S+`, `missing +redis-server +lab run --server redis-server +.*; get it, for example: apt-get install redis-server`,
		`  redis +missing, required`, `  etcd +ok`, `  chromium +missing`, `  bananas +required, but no test knows it`,
	} {
		assert.Regexp(t, "(?m)^"+line+"$", stdout.String())
	}
}

func TestServerValues(t *testing.T) {
	for value, good := range map[string]bool{
		live.Embedded: true, live.RedisServer: true, "127.0.0.1:6379": true, "[::1]:6379": true, "redis:6379": true,
		"": false, "embeded": false, ":6379": false, "redis:99999": false,
	} {
		f := &option.Setting{}
		f.Bind(cli.FlagSet())
		f.Server = value
		assert.Equal(t, good, f.Check() == nil, value)
	}
}

// Flags about a Redis at an address mean nothing with another server, whatever runs there.
func TestAddressFlagsNeedAnAddress(t *testing.T) {
	for _, command := range []string{"run take-turns", "storm --lock getset", "doctor --client true", "serve"} {
		var stdout, stderr bytes.Buffer
		args := append(strings.Fields(command), "--tls-ca", "ca.pem")
		assert.Equal(t, cli.CodeUsage, carryOut(t.Context(), args, strings.NewReader(""), &stdout, &stderr), command)
		assert.Equal(t, "lab: --tls-ca is for a Redis at an address, and --server is embedded\n", stderr.String(), command)
	}
}

// What go run builds is called by go run, wherever its cache is.
func TestInvocation(t *testing.T) {
	defer func(called string) { os.Args[0] = called }(os.Args[0])
	hash := strings.Repeat("3089c753b8dcce5d", 4)
	for program, want := range map[string]string{
		"/tmp/go-build1161/b001/exe/lab":              "go run ./cmd/lab",
		"/root/.cache/go-build/30/" + hash + "-d/lab": "go run ./cmd/lab",
		"/elsewhere/30/" + hash + "-d/lab":            "go run ./cmd/lab",
		"/home/me/go/bin/lab":                         "/home/me/go/bin/lab",
		"./lab":                                       "./lab",
	} {
		os.Args[0] = program
		assert.Equal(t, want, cli.Program(), program)
	}
}
