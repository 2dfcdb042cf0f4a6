package checker

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("update", false, "rewrite the golden files")

// TestStories judges the histories in testdata. The name of a story says what it must come to: safe-*.txt is safe, and any other
// begins with the anomaly that it shows and has the whole verdict in the file beside it.
func TestStories(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	shown := make(map[Name]bool)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(name, func(t *testing.T) {
			events, err := readStory(path)
			require.NoError(t, err)
			v := Judge(events, Options{Twice: true})
			for _, n := range v.Names() {
				shown[n] = true
			}
			got := worded(v)
			if strings.HasPrefix(name, "safe-") {
				assert.Equal(t, "safe\n", got)
				return
			}
			golden := strings.TrimSuffix(path, ".txt") + ".golden"
			if *rewrite {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), got)
			assert.True(t, containsPrefix(v.Names(), name), got)
		})
	}
	for _, d := range Definitions() {
		assert.True(t, shown[d.Name], "no story shows %s", d.Name)
	}
}

func containsPrefix(names []Name, story string) bool {
	for _, n := range names {
		if strings.HasPrefix(story, string(n)) {
			return true
		}
	}
	return false
}

func worded(v Verdict) string {
	var b strings.Builder
	fmt.Fprintln(&b, v)
	for _, a := range v.Anomalies {
		fmt.Fprintf(&b, "%s %s at %v, events %v\n  %s\n", a.Name, strings.Join(a.Clients, " "), a.At, a.Events, a.Why)
	}
	return b.String()
}
