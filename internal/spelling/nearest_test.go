package spelling

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNearest(t *testing.T) {
	candidates := []string{"acquire", "release", "give up", "pause-past-lease", "C1"}
	for name, want := range map[string]string{
		"aquire":     "acquire",
		"ACQUIRE":    "acquire",
		"acqiure":    "acquire",
		"relaese":    "release",
		"giveup":     "give up",
		"pause-past": "pause-past-lease",
		"past-lease": "pause-past-lease",
		"c1":         "C1",
		"C2":         "",
		"zebra":      "",
		"":           "",
	} {
		assert.Equal(t, want, Nearest(name, candidates), name)
	}
}
