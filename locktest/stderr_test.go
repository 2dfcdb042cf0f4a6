package locktest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/locktest"
)

// What a killed test has captured of standard error is not left in a file.
func TestCapturedOutputHasNoName(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	spec, known := impls.Find("setpx-lua")
	require.True(t, known)
	made := spec.New
	spec.New = func(env impls.Env, opts impls.Options) impls.Lock {
		left, err := filepath.Glob(filepath.Join(os.TempDir(), "locktest-stderr-*"))
		assert.NoError(t, err)
		assert.Empty(t, left)
		return made(env, opts)
	}
	locktest.Explore(t, locktest.OfSpec(spec), locktest.Search{Schedules: 10})
}
