package redis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// What the model does not know, a real server may. Nothing can be concluded from the error that the model answers.
func TestWhatTheModelDoesNotKnow(t *testing.T) {
	for text, test := range map[string]struct {
		command []string
		want    string
	}{
		"a command":               {[]string{"OBJECT", "ENCODING", "k"}, "OBJECT ENCODING k"},
		"the time, undated":       {[]string{"TIME"}, "TIME"},
		"an option":               {[]string{"SET", "k", "v", "PXAT", "1"}, "SET k v PXAT 1"},
		"a further argument":      {[]string{"LPOP", "k", "2"}, "LPOP k 2"},
		"a command in a script":   {[]string{"EVAL", `return redis.pcall("WAIT", 0, 0)`, "0"}, "WAIT 0 0"},
		"a library in a script":   {[]string{"EVAL", `return cjson.encode({})`, "0"}, "cjson in a script"},
		"a function in a script":  {[]string{"EVAL", `return redis.sha1hex("")`, "0"}, "redis.sha1hex in a script"},
		"chance in a script":      {[]string{"EVAL", `return math.random(2)`, "0"}, "math.random in a script"},
		"arithmetic in a script":  {[]string{"EVAL", `return math.floor(1.5)`, "0"}, ""},
		"an error that Redis has": {[]string{"SETEX", "k", "0", "v"}, ""},
		"what it knows":           {[]string{"EVAL", `local t = {} return redis.call("SET", KEYS[1], tostring(#t), "PX", 10)`, "1", "k"}, ""},
	} {
		t.Run(text, func(t *testing.T) {
			s := New()
			s.Do(1, test.command...)
			assert.Equal(t, test.want, s.Unknown())
			assert.Equal(t, test.want, s.Clone().Unknown())
		})
	}
}

// A server with a wall clock tells it, to the millisecond, and two that differ only in that differ.
func TestTimeOfDay(t *testing.T) {
	s := New()
	s.SetWallClock(1_600_000_000*time.Second + 250*time.Millisecond)
	before := s.AppendState(nil)
	assert.Equal(t, `["1600000000" "250000"]`, s.Do(1, "TIME").String())
	assert.Equal(t, before, s.AppendState(nil))
	s.Advance(time.Second - time.Millisecond)
	assert.Equal(t, `["1600000001" "249000"]`, s.Do(1, "EVAL", `return redis.call("TIME")`, "0").String())
	assert.NotEqual(t, before, s.AppendState(nil))
	assert.Empty(t, s.Unknown())
	undated := New()
	undated.Do(1, "PEXPIREAT", "k", "1600000000000")
	assert.Equal(t, "PEXPIREAT k 1600000000000", undated.Clone().Unknown())
}
