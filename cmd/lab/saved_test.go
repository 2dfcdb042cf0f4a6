package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/saved"
)

// TestSavedRunsAreStillJudged reads runs that an earlier version of the lab has saved: a suite on redis-server and a storm. They come to
// the verdicts that they had, and every cell can be explained.
func TestSavedRunsAreStillJudged(t *testing.T) {
	for _, name := range []string{"suite", "storm"} {
		dir := filepath.Join("testdata", "runs", name)
		var out, stderr bytes.Buffer
		assert.Equal(t, cli.CodeExpected, carryOut(t.Context(), []string{"check", dir}, strings.NewReader(""), &out, &stderr), "%s\n%s", out.String(), stderr.String())
		saved, err := saved.Read(dir)
		require.NoError(t, err)
		for _, cell := range saved.Cells {
			var story bytes.Buffer
			code := carryOut(t.Context(), []string{"explain", dir, cell.Lock + "/" + cell.Scenario}, strings.NewReader(""), &story, &stderr)
			assert.Equal(t, cli.CodeExpected, code, stderr.String())
			assert.Contains(t, strings.Join(strings.Fields(story.String()), " "), cell.Lock+"/"+cell.Scenario+": "+cell.Verdict.String())
		}
	}
}
