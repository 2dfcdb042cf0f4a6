package tap

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A diverted client talks to another server from its next connection on. That is recorded by another name, and without states.
func TestDivert(t *testing.T) {
	old := startMini(t)
	b := setUp(t, startMini(t))
	before, other := b.dial("C1"), b.dial("C2")
	assert.Equal(t, "PONG", before.do("PING"), "it is connected")
	b.Divert(func(client string) bool { return client == "C1" }, old, "old")
	diverted := b.dial("C1")
	assert.Equal(t, "OK", diverted.do("SET", "lock", "there"))
	assert.Equal(t, "OK", before.do("SET", "lock", "here"))
	assert.Equal(t, "here", other.do("GET", "lock"))
	b.Divert(nil, "", "")
	assert.Equal(t, "here", b.dial("C1").do("GET", "lock"))
	assert.Equal(t, "there", diverted.do("GET", "lock"))

	var servers []string
	for _, e := range b.recorded(5) {
		servers = append(servers, e.Detail.Command.Server)
		assert.Equal(t, e.Detail.Command.Server == "old", len(e.Detail.Command.Changes) == 0, "%v", e.Detail.Command.Args)
	}
	assert.Equal(t, []string{"old", "redis", "redis", "redis", "old"}, servers)
}

// A server that gets another name keeps its connections.
func TestCall(t *testing.T) {
	b := setUp(t, startMini(t))
	c := b.dial("C1")
	for _, asked := range []bool{true, false, true} {
		b.Call(map[bool]string{true: "redis", false: "old"}[asked], asked)
		assert.Equal(t, "OK", c.do("SET", "lock", "here"))
	}
	for i, e := range b.recorded(3) {
		assert.Equal(t, []string{"redis", "old", "redis"}[i], e.Detail.Command.Server)
		assert.Equal(t, i == 1, len(e.Detail.Command.Changes) == 0)
	}
}
