package format

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{
		"runs/latest": "runs/latest", "python3 mylock.py": "'python3 mylock.py'", "": "''", "it's": `'it'\''s'`, "a*": "'a*'",
	} {
		require.Equal(t, want, ShellWord(in))
	}
}
