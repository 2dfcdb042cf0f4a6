package adapters

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPythonBehindAShim: the first python3 in PATH may lack what the system's has. What is found is also what is run.
func TestPythonBehindAShim(t *testing.T) {
	system := python()[1]
	if _, err := os.Stat(system); err != nil {
		t.Skip(err)
	}
	shim := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(shim, "python3"), []byte("#!/bin/sh\necho 'ModuleNotFoundError: hidden' >&2; exit 1\n"), 0o700))
	t.Setenv("PATH", shim+string(os.PathListSeparator)+os.Getenv("PATH"))
	path, err := FindPython("json")
	require.NoError(t, err)
	assert.Equal(t, system, path)
	_, err = FindPython("no_such_library")
	require.ErrorContains(t, err, "no_such_library")

	if NeedsRedisPy.Missing() == nil {
		a, _ := Find("redis-py")
		assert.Equal(t, system+" adapters/python/redis_py.py", a.Here())
	}
}
