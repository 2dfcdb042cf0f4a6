package supervise

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/racing"
)

// TestChildInALimitedAddressSpace: the C library reserves little there, for the child and what it starts.
func TestChildInALimitedAddressSpace(t *testing.T) {
	if racing.Enabled {
		t.Skip("the race detector reserves more")
	}
	for limit, want := range map[string]string{"unlimited": "", "8000000": "1"} {
		t.Run(limit, func(t *testing.T) {
			shell := `ulimit -v "$1"; unset MALLOC_ARENA_MAX; exec "$0" "says its arenas"`
			out, err := exec.Command("/bin/sh", "-c", shell, os.Args[0], limit).CombinedOutput()
			require.NoError(t, err, string(out))
			first, _, _ := strings.Cut(string(out), "\n")
			assert.Equal(t, want, first)
		})
	}
}
