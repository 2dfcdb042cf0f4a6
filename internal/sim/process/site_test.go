package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/impls"
)

// TestSourceOf: locks share files, and the code of each begins after its line.
func TestSourceOf(t *testing.T) {
	for lock, acquires := range map[string]string{
		"redisson":          "func (l *redissonLock) TryAcquire(",
		"redisson-lease":    "func (l *redissonLeaseLock) TryAcquire(",
		"redisson-watchdog": "func (l *redissonWatchdogLock) TryAcquire(",
	} {
		spec, ok := impls.Find(lock)
		require.True(t, ok)
		file, line := SourceOf(spec)
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "impls", file))
		require.NoError(t, err)
		rows := strings.Split(string(text), "\n")[line:]
		first := slices.IndexFunc(rows, func(row string) bool { return strings.Contains(row, ") TryAcquire(") })
		require.GreaterOrEqual(t, first, 0)
		assert.Contains(t, rows[first], acquires, lock)
	}
}
