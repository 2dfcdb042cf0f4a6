package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
)

// TestErrorsOnClosingAreReported: whatever a run came to, what went wrong afterwards is said, and makes it a failure of the lab.
func TestErrorsOnClosingAreReported(t *testing.T) {
	for _, code := range []int{cli.CodeSurprise, cli.CodeUnknown, cli.CodeFailed, cli.CodeNothing} {
		for name, err := range map[string]error{
			"joined":  errors.Join(cli.Exit(code), errors.New("close: the guard process has ended")),
			"wrapped": fmt.Errorf("run: %w", errors.Join(errors.New("close: the guard process has ended"), cli.Exit(code))),
		} {
			t.Run(fmt.Sprint(name, code), func(t *testing.T) {
				root := &cobra.Command{Use: "lab", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return err }}
				var out, stderr strings.Builder
				assert.Equal(t, cli.CodeFailed, cli.Execute(context.Background(), root, nil, strings.NewReader(""), &out, &stderr))
				assert.Contains(t, stderr.String(), "close: the guard process has ended")
				assert.NotContains(t, stderr.String(), "exit code")
			})
		}
	}
}
