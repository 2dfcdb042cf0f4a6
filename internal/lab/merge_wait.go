package lab

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/locklab/locklab/internal/report"
)

// askAgain is how often a directory is looked at that another machine fills: it cannot tell this one.
const askAgain = 200 * time.Millisecond

// AwaitParts waits until all parts are there and complete, at most for a time: what they lack then, Merge and MergePoints say. The error is the
// cause of ctx's end.
func AwaitParts(ctx context.Context, dirs []string, most time.Duration) error {
	deadline := time.Now().Add(most)
	for slices.ContainsFunc(dirs, incomplete) && time.Now().Before(deadline) {
		select {
		case <-time.After(min(askAgain, time.Until(deadline))):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// incomplete says whether another lab may still write to a part.
func incomplete(dir string) bool {
	if points, err := readPoints(dir); err == nil {
		return !points.Finished
	}
	run, err := report.ReadRun(dir)
	if err != nil || !run.Finished {
		return true
	}
	_, err = os.Stat(filepath.Join(run.Dir, report.JUnitFile)) // which is written after the histories have been packed
	return err != nil
}
