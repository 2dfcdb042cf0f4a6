package checker

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

const (
	opened    = "0ms C1 opens, lease 10s\n"
	took      = "1ms C1 sends #1 SET k a : - -> a@10s\n"
	firstHold = opened + "1ms C1 calls acquire #1\n" + took + "2ms C1 returns #1 ok\n"
	released  = firstHold + "3ms C1 calls release #2\n3ms C1 sends #2 DEL k : a@9s -> -\n4ms C1 returns #2 ok\n"
	faulty    = "3ms fault pause C1 inject\n4ms fault pause C1 effective\n"
	crash     = "5ms fault crash C1 inject\n6ms C1 exits\n6ms fault crash C1 effective\n"
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
		"fault after":   {released + "5ms fault pause C1 inject\n6ms fault pause C1 effective\n", "no fault fell on a hold or on an operation under way"},
		"a wrong clock": {"0ms fault skew C1 inject\n0ms fault skew C1 effective\n0ms fault skew C1 recover\n" + firstHold, ""},
		"a right clock again": {firstHold + "3ms fault skew C2 inject\n3ms fault skew C2 effective\n4ms C1 calls check #2\n",
			"no fault fell on a hold or on an operation under way"},
		"nothing was sent": {opened + "1ms C1 calls acquire #1\n2ms C1 returns #1 ok\n",
			"C1 acquired the lock, but no command of its acquire reached the lock's key"},
		"only before and after": {opened + took + "1ms C1 calls acquire #1\n2ms C1 returns #1 ok\n2ms C1 sends GET k : a@10s -> a@10s\n",
			"C1 acquired the lock, but no command of its acquire reached the lock's key"},
		"only somebody else's": {opened + "1ms C1 calls acquire #1\n1ms C2 sends SET k b NX : a@9s -> a@9s\n2ms C1 returns #1 ok\n",
			"C1 acquired the lock, but no command of its acquire reached the lock's key"},
		"sent in the background": {opened + "1ms C1 calls acquire #1\n1ms C1 sends SET k a : - -> a@10s\n2ms C1 returns #1 ok\n", ""},
		"nobody asked":           {opened + "1ms C1 calls acquire #1\n1ms C1 sends #1 SET k a\n2ms C1 returns #1 ok\n", ""},
		"had it already":         {firstHold + "3ms C1 calls acquire #2\n4ms C1 returns #2 ok\n", ""},
		"another client's fault": {firstHold + "3ms fault partition C2 inject\n4ms fault partition C2 effective\n5ms C1 calls check #2\n",
			"no fault fell on a hold or on an operation under way"},
		"nobody learned anything": {firstHold + faulty + "5ms C2 opens\n5ms C2 calls acquire #2\n6ms C2 returns #2 unknown\n",
			"nobody who asked for the lock after the fault learned whether it was free"},
		"no without a command": {firstHold + faulty + "5ms C2 opens\n5ms C2 calls acquire #2\n6ms C2 returns #2 no\n",
			"nobody who asked for the lock after the fault learned whether it was free"},
		"one learned":                   {firstHold + faulty + "5ms C2 opens\n5ms C2 calls acquire #2\n5ms C2 sends #2 SET k b NX : a@9s -> a@9s\n6ms C2 returns #2 no\n", ""},
		"crash of the holder's process": {strings.ReplaceAll(firstHold, "C1", "C1.b") + crash, ""},
		"fault of the holder's process": {
			strings.ReplaceAll(firstHold, "C1", "C1.b") + "3ms fault pause C1 inject\n4ms fault pause C1 effective\n", "",
		},
		"wrong clock of the holder's process": {
			"0ms fault skew C1 inject\n0ms fault skew C1 effective\n" + strings.ReplaceAll(released, "C1", "C1.b"), "",
		},
		"fault of another in its process": {firstHold + "3ms fault hold C1.b effective\n4ms C1 calls check #2\n",
			"no fault fell on a hold or on an operation under way"},
		"crash of the holder":       {firstHold + crash, ""},
		"crash while it is waiting": {opened + "0ms C2 opens\n0ms C2 calls acquire #1\n0ms C2 sends #1 SET k a : - -> a@10s\n0ms C2 returns #1 ok\n1ms C1 calls acquire #2\n" + crash, ""},
		"crash with a lease left":   {opened + "1ms C1 calls acquire #1\n" + took + "2ms C1 returns #1 ok valid 2ms\n" + crash, ""},
		"crash of an idle client":   {released + crash, "no fault fell on a hold or on an operation under way"},
		"restart in a hold":         {firstHold + "3ms fault restart redis inject\n4ms fault restart redis effective\n", ""},
		"restart of an idle server": {opened + "0ms fault restart redis inject\n0ms fault restart redis effective\n" + firstHold,
			"no fault fell on a hold or on an operation under way"},
		"trap on a command of an operation that has returned": {released + "5ms fault duplicate C1 effective\n", ""},
		"operation pending": {released + "5ms fault pause C1 effective\n6ms C1 calls check #3\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "story.txt")
			require.NoError(t, os.WriteFile(path, []byte(c.story), 0o600))
			events, err := readStory(path)
			require.NoError(t, err)
			p := premisesOf(events)
			assert.Equal(t, c.want, cmp.Or(p.verdict(), p.uninformed()))
		})
	}
}

func premisesOf(events []history.Event) *premises {
	p := newPremises()
	p.read(events, func(*timeline.Fact) {})
	return p
}

// TestUninformedQuotesTheClient: why nobody learned anything is mostly in the words of the client.
func TestUninformedQuotesTheClient(t *testing.T) {
	story := firstHold + "3ms fault restart redis inject\n4ms fault restart redis effective\n5ms C2 opens\n5ms C2 calls acquire #2\n6ms C2 returns #2 unknown\n"
	path := filepath.Join(t.TempDir(), "story.txt")
	require.NoError(t, os.WriteFile(path, []byte(story), 0o600))
	events, err := readStory(path)
	require.NoError(t, err)
	events[len(events)-1].Detail = &history.Detail{Error: "TimeoutTooLarge(6)"}
	require.Equal(t, "nobody who asked for the lock after the fault learned whether it was free; C2's acquire was answered unknown: TimeoutTooLarge(6)",
		explained(premisesOf(events).uninformed(), events, false))
}
