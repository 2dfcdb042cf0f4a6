package archtest

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestModulesShareVersions: a module beside the lab's requires what both require in the same version. Else all of the lab that depends on it is
// built once more for that module, and may behave otherwise there.
func TestModulesShareVersions(t *testing.T) {
	root := filepath.Join("..", "..")
	ours := required(t, filepath.Join(root, "go.mod"))
	require.NotEmpty(t, ours)
	others, err := filepath.Glob(filepath.Join(root, "*", "*", "go.mod"))
	require.NoError(t, err)
	require.NotEmpty(t, others)
	for _, file := range others {
		for path, version := range required(t, file) {
			if shared, ok := ours[path]; ok {
				assert.Equal(t, shared, version, "%s in %s", path, file)
			}
		}
	}
}

// required are the versions that a go.mod names, by module.
func required(t *testing.T, file string) map[string]string {
	t.Helper()
	out, err := exec.Command("go", "mod", "edit", "-json", file).Output()
	require.NoError(t, err, file)
	var mod struct {
		Require []struct{ Path, Version string }
	}
	require.NoError(t, json.Unmarshal(out, &mod), file)
	versions := make(map[string]string)
	for _, r := range mod.Require {
		versions[r.Path] = r.Version
	}
	return versions
}
