package checker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
)

// FuzzConclude: no history file that can be read makes the checker panic, or its judges contradict each other.
func FuzzConclude(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txt")
	require.NoError(f, err)
	for _, path := range paths {
		events, err := readStory(path)
		require.NoError(f, err)
		var text strings.Builder
		w, err := history.NewWriter(&text, history.Header{})
		require.NoError(f, err)
		for _, e := range events {
			require.NoError(f, w.Write(e))
		}
		require.NoError(f, w.Write(history.Event{Kind: history.KindEnd, At: events[len(events)-1].At}))
		f.Add(text.String())
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := history.Read(t.Context(), strings.NewReader(text), os.DevNull)
		if err != nil {
			return
		}
		opts := Options{Timeout: 100 * time.Millisecond, Twice: true}
		Conclude(file.Events, opts)
		v := Judge(file.Events, opts)
		require.False(t, v.CheckerFault, v.Reason)
	})
}
