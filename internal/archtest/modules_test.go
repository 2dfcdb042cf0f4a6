package archtest

import (
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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

// locktestModules are the modules of others that package locktest brings into the go.mod of those who use it, and locktestPackages how many packages
// of others they build for it at most, with those of the standard library; and how many lines of this one's.
var locktestModules = []string{"github.com/anishathalye/porcupine", "github.com/yuin/gopher-lua"}

const (
	locktestPackages = 139
	locktestLines    = 48_400
)

// TestLocktestIsLean: a library's test gets the model and the judges, and nothing that is live.
func TestLocktestIsLean(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{with .Module}}{{.Path}}{{end}}", "./locktest")
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	modules, own := map[string]bool{}, map[string]bool{}
	for _, line := range lines {
		if dir, ours := strings.CutPrefix(strings.Fields(line)[0], module+"/"); ours {
			own[dir] = true
		}
		if _, path, _ := strings.Cut(line, " "); path != "" && path != module {
			modules[path] = true
		}
		for _, live := range []string{"lab", "internal/scenarios/live", "internal/faults/network", "internal/faults/server/redis", "internal/worker"} {
			assert.NotEqual(t, module+"/"+live, strings.Fields(line)[0])
		}
	}
	assert.Equal(t, locktestModules, slices.Sorted(maps.Keys(modules)))
	assert.LessOrEqual(t, len(lines)-len(own), locktestPackages)
	built := 0
	for _, f := range sources(t) {
		if own[f.dir] && !strings.HasSuffix(f.path, "_test.go") {
			built += f.lines
		}
	}
	assert.LessOrEqual(t, built, locktestLines)
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
