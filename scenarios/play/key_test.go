package play

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/scenarios"
	"github.com/locklab/locklab/worker/protocol"
)

// TestNamesOfKeys: a client is given one key, and its lock names another one on its server, which is the one that the lab watches.
func TestNamesOfKeys(t *testing.T) {
	for key, wrong := range map[string]string{
		"":                 "",
		"mutex:{key}":      "",
		"mutex":            `key in hello is "mutex", and must have {key} in it once`,
		"{key}:{key}":      "must have {key} in it once",
		"rueidis:0:{key}!": "",
	} {
		subject, err := Subject{}.Introduced(protocol.Hello{Version: protocol.Version, Name: "mylock", Key: key})
		if wrong != "" {
			require.ErrorContains(t, err, wrong)
			continue
		}
		require.NoError(t, err)
		script := &scenarios.Script{Clients: []string{"C1", "C2"}, OtherKey: []string{"C2"}}
		cell := NewCell(script, subject.Traits, script.Clients, "cell:", "counter")
		first, second := cell.Handle("C1"), cell.Handle("C2")
		assert.Equal(t, "cell:lock", first.Given)
		assert.Equal(t, "cell:other", second.Given)
		assert.Equal(t, subject.Traits.named("cell:lock"), first.Key)
		assert.True(t, cell.IsLock(first.Key) && cell.IsLock(second.Key), key)
		assert.Equal(t, key == "", cell.IsLock("cell:lock"), key)
	}
	assert.Equal(t, "mutex:a", Traits{Key: "mutex:{key}"}.named("a"))
}
