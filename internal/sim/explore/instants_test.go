package explore

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/needs"
)

// A search that takes times from an earlier one finds what it would have found alone, and runs less of the lock's code.
func TestSearchesShareInstants(t *testing.T) {
	for _, name := range []string{"getset", "getset-published", "watchdog", "redlock", "redisson-fair"} {
		t.Run(name, func(t *testing.T) {
			if name != "getset" && name != "redlock" {
				needs.Long(t, "a long search")
			}
			t.Parallel()
			first := Config{Lock: lock(t, name), Clients: 3, Rounds: 1, Servers: 1, Budget: spend(faults.Crash), MostFaults: 1, States: 3_000}
			if name == "redlock" {
				first.Servers = 3
			}
			for _, second := range []Config{first, {Clients: 2, Rounds: 2, Budget: spend(faults.Pause), MostFaults: 1, States: 3_000}} {
				second.Lock, second.Servers = first.Lock, first.Servers
				alone := explored(t, second)
				first.Instants = &Instants{}
				second.Instants = first.Instants
				explored(t, first)
				shared := explored(t, second)
				assert.Less(t, shared.Learned, alone.Learned)
				assert.Equal(t, alone.States, shared.States)
				assert.Equal(t, alone.Limit, shared.Limit)
				assert.Equal(t, alone.Doubt, shared.Doubt)
				assert.Equal(t, alone.Found, shared.Found)
			}
		})
	}
}
