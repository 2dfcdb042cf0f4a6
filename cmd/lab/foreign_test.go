package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
)

// TestErrorsOfOthersMoveNoCursor: what a server or a client says may reach an error of the lab.
func TestErrorsOfOthersMoveNoCursor(t *testing.T) {
	root := &cobra.Command{Use: "lab", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error {
		return errors.New("redis at host: ERR \x1b]0;title\x07\x1b[31mred\r\u202e\nsecond \xff line")
	}}
	var out, stderr strings.Builder
	assert.Equal(t, cli.CodeFailed, cli.Execute(context.Background(), root, nil, strings.NewReader(""), &out, &stderr))
	assert.Equal(t, "lab: redis at host: ERR \\x1b]0;title\\x07\\x1b[31mred\\x0d\\u202e\nlab: second \\xff line\n", stderr.String())
}
