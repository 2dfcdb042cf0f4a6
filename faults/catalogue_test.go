package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestEverySpellingMeansOneFault(t *testing.T) {
	names, flags := map[string]Kind{}, map[string]Kind{}
	for _, f := range All() {
		for _, name := range append([]string{string(f.Kind)}, f.Old...) {
			assert.NotContains(t, names, name)
			names[name] = f.Kind
			found, ok := Find(name)
			assert.True(t, ok, name)
			assert.Equal(t, f.Kind, found.Kind, name)
		}
		if f.Flag != "" {
			assert.NotContains(t, flags, f.Flag)
			flags[f.Flag] = f.Kind
		}
		assert.NotZero(t, f.Target, f.Kind)
		assert.NotEmpty(t, f.State, f.Kind)
		assert.NotEmpty(t, f.Meaning, f.Kind)
		assert.Equal(t, f.Recorded, f.Recorded.Of().Recorded, "%s is recorded as a fault that is recorded as itself", f.Kind)
		if f.OneShot {
			assert.Empty(t, f.Ends, f.Kind)
		}
	}
	_, ok := Find("no such fault")
	assert.False(t, ok)
}

func TestActions(t *testing.T) {
	for _, action := range Actions() {
		assert.True(t, action.Kind().OnMessage(), action.Words())
		assert.Equal(t, action.Kind().Holds(), action.Stops(), action.Words())
	}
	b := Breakpoint{Action: ActHoldRequest, Nth: 2, Match: Match{Kind: MatchCommand, Command: "EVAL"}, Server: "S2"}
	assert.Equal(t, "hold before second EVAL on S2", b.String())
	assert.Equal(t, "an EVAL number 2", b.Request())
	assert.Equal(t, "drop reply of first write", Breakpoint{Action: ActDropReply, Nth: 1, Match: Match{Kind: MatchWrite}}.String())
}

func TestClockSettings(t *testing.T) {
	assert.Equal(t, RightClock, ClockSetting(0, 1))
	assert.Equal(t, 0.995, ClockRate(ClockSetting(-2*time.Second, 0.995)))
	for _, text := range []string{RightClock, "", "offset 2s", "rate fast", "rate -1", "rate 0"} {
		assert.Equal(t, 1.0, ClockRate(text), text)
	}
}

func TestLinkFaults(t *testing.T) {
	for text, f := range map[string]LinkFault{
		"requests and replies held":      {Kind: Partition},
		"replies held":                   {Kind: Partition, Direction: Replies},
		"20ms each way":                  {Kind: Delay, Each: 20_000_000},
		"connections broken and refused": {Kind: Refuse},
		"replies dropped":                {Kind: ReplyLost},
	} {
		assert.Equal(t, text, f.String())
		assert.Equal(t, OnLink, f.Kind.Of().Target)
	}
	assert.True(t, Both.Includes(Requests) && Both.Includes(Replies) && Requests.Includes(Requests))
	assert.False(t, Requests.Includes(Replies))
}
