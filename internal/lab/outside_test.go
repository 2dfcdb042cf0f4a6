package lab_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/needs"
)

// TestFromAnotherModule runs the tests of a lock in a module of its own: scenarios in both worlds, a storm and the explorer.
func TestFromAnotherModule(t *testing.T) {
	needs.Long(t, "builds another module and runs its tests")
	cmd := exec.CommandContext(t.Context(), "go", "test", "./...")
	cmd.Dir = filepath.Join("..", "..", "examples", "mylock")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
