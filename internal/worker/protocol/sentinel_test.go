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

// FuzzAddr: an address that is read is written so that it is read again as the same.
func FuzzAddr(f *testing.F) {
	for _, text := range []string{
		"127.0.0.1:6379", "sentinel://locks/127.0.0.1:1=127.0.0.1:11,127.0.0.1:2=127.0.0.1:12/127.0.0.1:3=127.0.0.1:13", "sentinel:///a=b/c=d",
		"cluster://{tag}/127.0.0.1:1=127.0.0.1:11", "cluster:///a=b", "cluster://tag/a", "sentinel://a/=/==",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sentinels, is, err := ParseSentinel(text)
		if is && err == nil {
			again, is, err := ParseSentinel(sentinels.String())
			require.NoError(t, err)
			require.True(t, is)
			require.Equal(t, sentinels, again)
		}
		cluster, is, err := ParseCluster(text)
		if is && err == nil {
			again, is, err := ParseCluster(cluster.String())
			require.NoError(t, err)
			require.True(t, is)
			require.Equal(t, cluster, again)
		}
		_ = CheckAddr(text)
	})
}
