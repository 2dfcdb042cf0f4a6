package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
)

// An exploration that is interrupted says how far it has come, and never that the lock holds.
func TestExploreInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Second, func() { cancel(&cli.Interrupted{Signal: os.Interrupt}) })
	var stdout, stderr bytes.Buffer
	code := carryOut(ctx, []string{"explore", "watchdog", "--overworks", "2"}, nil, &stdout, &stderr)
	assert.Equal(t, 130, code)
	assert.Regexp(t, `(?m)^lab: not complete: \d+ states, depth \d+, `, stderr.String())
	assert.Regexp(t, `^  searched {3}all .*; no counterexample so far\n$`, regexp.MustCompile(`\n {12,}`).ReplaceAllString(stderr.String()[strings.Index(stderr.String(), "  searched"):], " "))
	assert.NotContains(t, stdout.String(), "HOLDS")
}
