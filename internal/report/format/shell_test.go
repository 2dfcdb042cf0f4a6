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

// A command goes on in the next line before a flag, not between a flag and its value.
func TestFoldCommand(t *testing.T) {
	const line = "lab run late-write -v --lock setpx-lua,redisson --client 'python3 mylock.py' --json"
	require.Equal(t, line, FoldCommand(line, 0, len(line)))
	require.Equal(t, "lab run late-write -v \\\n    --lock setpx-lua,redisson \\\n    --client 'python3 mylock.py' \\\n    --json", FoldCommand(line, 2, 40))
}
