package checker

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
)

// A history that was read back has its commands packed, and each judge unpacks them one after the other in the same room. What it kept of
// one would be lost.
func TestPackedCommandsAreJudgedAlike(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	packed := 0
	for _, path := range paths {
		events, err := readStory(path)
		require.NoError(t, err)
		read := readBack(events)
		if read == nil {
			continue // a story that a reader of files refuses
		}
		packed++
		assert.Equal(t, Judge(events, Options{Twice: true}), Judge(read, Options{Twice: true}), path)
		assert.Equal(t, premisesOf(events).verdict(), premisesOf(read).verdict(), path)
		assert.Equal(t, unasked(events), unasked(read), path)
	}
	assert.Greater(t, packed, len(paths)*3/4)
}

// readBack writes and reads a history; nil if it cannot be read.
func readBack(events []history.Event) []history.Event {
	var text bytes.Buffer
	w, err := history.NewWriter(&text, history.Header{})
	for i := 0; err == nil && i < len(events); i++ {
		err = w.Write(events[i])
	}
	file, refused := history.Read(context.Background(), &text, "story")
	if err != nil || refused != nil {
		return nil
	}
	return file.Events
}
