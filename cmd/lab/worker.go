package main

import (
	"github.com/spf13/cobra"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/worker"
)

// newWorker is the client process of the lab's own locks.
func newWorker() *cobra.Command {
	return &cobra.Command{
		Use:   "worker",
		Short: "Run as a client process that speaks docs/protocol.md",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return worker.Main(cmd.Context(), impls.Every())
		},
	}
}
