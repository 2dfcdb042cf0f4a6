package jute

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestContenders(t *testing.T) {
	var c Contenders[string]
	assert.False(t, c.Settle(), "there is nobody")
	c.Add("b-0000000002", "C2")
	c.Add("a-0000000003", "C3")
	assert.Equal(t, "b-0000000002", c.Head, "numbers count, not names")
	c.Add("z-0000000001", "C1")
	assert.Equal(t, "z-0000000001", c.Head)
	assert.Equal(t, []string{"a-0000000003", "z-0000000001"}, c.Gone([]string{"b-0000000002", "other"}))

	c.Remove("z-0000000001")
	assert.Empty(t, c.Head)
	assert.True(t, c.Settle())
	assert.Equal(t, "C2", c.Known[c.Head])
	assert.False(t, c.Settle(), "it is somebody's")
	c.Remove("a-0000000003")
	assert.Equal(t, "b-0000000002", c.Head, "another has gone")
}
