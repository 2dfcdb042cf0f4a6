package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/locklab/locklab/sim/explore"
)

// script writes the counterexample as a script for lab run.
func (f *exploreFlags) script(cmd *cobra.Command, trace *explore.Trace) error {
	if trace == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "lab: there is no counterexample, so %s is not written\n", f.out)
		return nil
	}
	text, err := scriptOf(trace)
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.out, []byte(text), 0o644); err != nil {
		return usagef("--out: %v", plainly(err))
	}
	return nil
}

// scriptOf is where a trace becomes a script.
func scriptOf(trace *explore.Trace) (string, error) {
	return "", usagef("--out: a counterexample of %s cannot be written as a script yet", trace.Lock)
}
