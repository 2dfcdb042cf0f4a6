package clocks

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The overlay has a whole file for each that it replaces, and one more; it changes nothing but the places that it knows.
func TestOverlayOfThisGo(t *testing.T) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	goroot := strings.TrimSpace(string(out))
	path, err := WriteOverlay(goroot, t.TempDir())
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var overlay struct{ Replace map[string]string }
	require.NoError(t, json.Unmarshal(text, &overlay))
	assert.Len(t, overlay.Replace, 5)
	changed := 0
	for original, by := range overlay.Replace {
		text, err := os.ReadFile(by)
		require.NoError(t, err)
		_, err = parser.ParseFile(token.NewFileSet(), original, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		was, err := os.ReadFile(original)
		if filepath.Base(original) == "locklab.go" {
			assert.ErrorIs(t, err, os.ErrNotExist)
			assert.NotContains(t, string(text), "RUNTIME_NOW")
			continue
		}
		require.NoError(t, err)
		before, after := strings.Split(string(was), "\n"), strings.Split(string(text), "\n")
		require.Len(t, after, len(before))
		for i := range before {
			if before[i] != after[i] {
				changed++
			}
		}
	}
	assert.Equal(t, 8, changed)
}

// A Go with other sources is refused, with what is missing and where.
func TestOverlayOfAnotherGo(t *testing.T) {
	_, err := WriteOverlay(t.TempDir(), t.TempDir())
	require.ErrorContains(t, err, "sources of Go: open ")
	goroot := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(goroot, "src", "time"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(goroot, "src", "time", "time.go"), []byte("package time\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(goroot, "VERSION"), []byte("go1.99\ntime 2099\n"), 0o600))
	dir := filepath.Join(t.TempDir(), "overlay")
	_, err = WriteOverlay(goroot, dir)
	require.ErrorContains(t, err, "this version of Go (go1.99) has ")
	require.ErrorContains(t, err, "0 times in src/time/time.go instead of 1: the lab does not know how to set its clock")
	assert.NoDirExists(t, dir, "nothing is written")
}
