package redis

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What the model does not know, a real server may. Nothing can be concluded from the error that the model answers.
func TestWhatTheModelDoesNotKnow(t *testing.T) {
	for text, test := range map[string]struct {
		command []string
		want    string
	}{
		"a command":               {[]string{"TIME"}, "TIME"},
		"an option":               {[]string{"SET", "k", "v", "PXAT", "1"}, "SET k v PXAT 1"},
		"a further argument":      {[]string{"LPOP", "k", "2"}, "LPOP k 2"},
		"a command in a script":   {[]string{"EVAL", `return redis.pcall("TIME")`, "0"}, "TIME"},
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
