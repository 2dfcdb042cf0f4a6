package checker

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	opened    = "0ms C1 opens, lease 10s\n"
	firstHold = opened + "1ms C1 calls acquire #1\n2ms C1 returns #1 ok\n"
	released  = firstHold + "3ms C1 calls release #2\n4ms C1 returns #2 ok\n"
)

func TestPremises(t *testing.T) {
	for name, c := range map[string]struct{ story, want string }{
		"nothing":             {"", ""},
		"a hold, no fault":    {firstHold, ""},
		"refused":             {opened + "1ms C1 calls acquire #1\n2ms C1 returns #1 no\n", "no acquire succeeded"},
		"unknown":             {opened + "1ms C1 calls acquire #1\n2ms C1 returns #1 unknown\n", "no acquire succeeded"},
		"fault in a hold":     {firstHold + "3ms fault pause C1 inject\n4ms fault pause C1 effective\n", ""},
		"hold in a fault":     {"0ms fault delay C1 inject\n0ms fault delay C1 effective\n" + firstHold, ""},
		"fault never worked":  {firstHold + "3ms fault pause C1 inject\n", "the fault pause of C1 was injected but never seen to take effect"},
		"taken back too soon": {firstHold + "3ms fault pause C1 inject\n4ms fault pause C1 recover\n", "the fault pause of C1 was injected but never seen to take effect"},
		"another one worked": {firstHold + "3ms fault pause C1 inject\n4ms fault pause C2 inject\n5ms fault pause C1 effective\n",
			"the fault pause of C2 was injected but never seen to take effect"},
		"the second did not work": {firstHold + "3ms fault pause C1 inject\n4ms fault pause C1 effective\n5ms fault pause C1 recover\n6ms fault pause C1 inject\n",
			"the fault pause of C1 was injected but never seen to take effect"},
		"fault over before": {"0ms fault delay C1 inject\n0ms fault delay C1 effective\n0ms fault delay C1 recover\n" + firstHold,
			"no fault fell on a hold or on an operation under way"},
		"fault after":       {released + "5ms fault pause C1 inject\n6ms fault pause C1 effective\n", "no fault fell on a hold or on an operation under way"},
		"a wrong clock":     {"0ms fault skew C1 inject\n0ms fault skew C1 effective\n0ms fault skew C1 recover\n" + firstHold, ""},
		"operation pending": {released + "5ms fault pause C1 effective\n6ms C1 calls check #3\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "story.txt")
			require.NoError(t, os.WriteFile(path, []byte(c.story), 0o600))
			events, err := readStory(path)
			require.NoError(t, err)
			assert.Equal(t, c.want, Premises(events))
		})
	}
}
