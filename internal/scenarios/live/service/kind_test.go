package service

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// TestEveryKindIsWhole: a kind that the lab starts can be started, and each, also at an address, says what it lacks.
func TestEveryKindIsWhole(t *testing.T) {
	lock := play.Traits{Known: true}
	for _, name := range Names() {
		k := Of(name, false)
		assert.Equal(t, name, k.Name)
		assert.True(t, k.Own(), name)
		traits := lock
		traits.ZooKeeper = k.OnZooKeeper()
		if k.Unread() {
			assert.Equal(t, play.NeedsProgram, k.Lacks(&scenarios.Script{}, traits), name)
			traits.Opaque = name
		}
		assert.Empty(t, k.Lacks(&scenarios.Script{}, traits), name)
	}
	for address, keeper := range map[string]bool{"127.0.0.1:6379": false, "rediss://redis:6379/1": false, "zookeeper://127.0.0.1:2181": true} {
		k := Of(address, false)
		assert.False(t, k.Own(), address)
		assert.Equal(t, keeper, k.OnZooKeeper(), address)
		traits := lock
		traits.ZooKeeper = keeper
		assert.Empty(t, k.Lacks(&scenarios.Script{}, traits), address)
	}
}
