package main

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/sim/explore"
	"github.com/locklab/locklab/sim/points"
	"github.com/locklab/locklab/sim/trace"
)

// An exploration that is interrupted says how far it has come, and never that the lock holds.
func TestExploreInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Second, func() { cancel(&interrupted{os.Interrupt}) })
	var stdout, stderr bytes.Buffer
	code := run(ctx, []string{"explore", "watchdog", "--overworks", "2"}, nil, &stdout, &stderr)
	assert.Equal(t, 130, code)
	assert.Regexp(t, `(?m)^lab: not complete: .*; nothing was found so far$`, stderr.String())
	assert.NotContains(t, stdout.String(), "HOLDS")
}

func TestExploredCode(t *testing.T) {
	lua, ok := impls.Find("setpx-lua")
	assert.True(t, ok)
	config := explore.Config{Lock: lua}
	found, held := &trace.Trace{Anomalies: []checker.Name{checker.WrongfulDelete}}, []string{"held"}
	tests := map[string]struct {
		result   explore.Result
		expected points.Expectation
		want     int
	}{
		"holds":                {explore.Result{Coverage: held}, points.MustHold, codeExpected},
		"nobody ever held it":  {explore.Result{Coverage: []string{"refused"}}, points.MustHold, codeUnknown},
		"nor should have":      {explore.Result{}, points.MustBreak, codeUnknown},
		"broken as expected":   {explore.Result{Found: found}, points.MustBreak, codeExpected},
		"broken one passes":    {explore.Result{Coverage: held}, points.MustBreak, codeSurprise},
		"sound one breaks":     {explore.Result{Found: found}, points.MustHold, codeSurprise},
		"breaks a promise":     {explore.Result{Found: found}, points.PerCard, codeSurprise},
		"limit":                {explore.Result{Coverage: held, Limit: "5 states"}, points.MustBreak, codeUnknown},
		"found before a limit": {explore.Result{Found: found}, points.MayBreak, codeExpected},
		"disputed": {
			explore.Result{Found: found, Disputed: []explore.Dispute{{Anomaly: checker.Overwrite}}}, points.MustBreak, codeFailed,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, exploredCode(&test.result, test.expected, config))
		})
	}
}
