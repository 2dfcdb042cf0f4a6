package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClusterAddr(t *testing.T) {
	addr := ClusterAddr{Tag: "{lab}", Nodes: []Link{{"127.0.0.1:1", "127.0.0.1:11"}, {"127.0.0.1:2", "127.0.0.1:12"}}}
	require.Equal(t, "cluster://{lab}/127.0.0.1:1=127.0.0.1:11,127.0.0.1:2=127.0.0.1:12", addr.String())
	read, is, err := ParseCluster(addr.String())
	require.NoError(t, err)
	assert.True(t, is)
	assert.Equal(t, addr, read)
	_, is, _ = ParseCluster("127.0.0.1:6379")
	assert.False(t, is)
	for bad, want := range map[string]string{"cluster://{lab}": "write cluster://TAG/NODES", "cluster:///a=b": "write cluster://TAG/NODES", "cluster://{lab}/a": "write ANNOUNCED=ADDRESS"} {
		_, is, err := ParseCluster(bad)
		assert.True(t, is, bad)
		assert.ErrorContains(t, err, want, bad)
	}
}
