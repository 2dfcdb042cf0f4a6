package lab

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/locklab/locklab/internal/report/rundir"
)

// SavedRuns are the directories of the runs in dir, the newest first: names sort by time, as NewID makes them, and other names come after these. A
// directory that does not exist has none.
func SavedRuns(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var dated, others []string
	for _, entry := range entries {
		name := entry.Name()
		_, err := os.Stat(filepath.Join(dir, name, rundir.RunFile))
		switch {
		case !entry.IsDir() || err != nil: // the link to the latest is one of the others
		case idPattern.MatchString(name):
			dated = append(dated, filepath.Join(dir, name))
		default:
			others = append(others, filepath.Join(dir, name))
		}
	}
	slices.SortFunc(dated, func(a, b string) int { return strings.Compare(b, a) })
	return append(dated, others...), nil
}
