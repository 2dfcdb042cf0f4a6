package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSentinelAddr(t *testing.T) {
	addr := SentinelAddr{
		Name:      "locks",
		Sentinels: []Link{{"127.0.0.1:1", "127.0.0.1:11"}, {"127.0.0.1:2", "127.0.0.1:12"}},
		Nodes:     []Link{{"127.0.0.1:3", "127.0.0.1:13"}},
	}
	require.Equal(t, "sentinel://locks/127.0.0.1:1=127.0.0.1:11,127.0.0.1:2=127.0.0.1:12/127.0.0.1:3=127.0.0.1:13", addr.String())
	read, is, err := ParseSentinel(addr.String())
	require.NoError(t, err)
	assert.True(t, is)
	assert.Equal(t, addr, read)

	_, is, err = ParseSentinel("127.0.0.1:6379")
	assert.False(t, is)
	assert.NoError(t, err)
	for bad, want := range map[string]string{
		"sentinel://locks":       "write sentinel://NAME/SENTINELS/NODES",
		"sentinel:///a=b/c=d":    "write sentinel://NAME/SENTINELS/NODES",
		"sentinel://locks/a/c=d": "write ANNOUNCED=ADDRESS",
		"sentinel://locks/a=b/":  "write ANNOUNCED=ADDRESS",
	} {
		_, is, err := ParseSentinel(bad)
		assert.True(t, is, bad)
		assert.ErrorContains(t, err, want, bad)
	}
}
