package commands

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// literals are the strings of a program, in the quotes of any language, that are scripts.
var literals = regexp.MustCompile("(?s)\"\"\"(?:if|return|local) (?:.*?)\"\"\"|`(?:if|return|local) [^`]*`|'(?:if|return|local) [^']*redis\\.call[^']*'|\"(?:if|return) [^\"]*redis\\.call[^\"]*\"")

// TestScriptsOfKitsPass finds the scripts in the sources of the kits, and of programs that are written without one.
func TestScriptsOfKitsPass(t *testing.T) {
	scope := NewTable().NewScope(func([]byte) bool { return false })
	for _, file := range []string{
		"internal/kits/go/main.go.txt", "internal/kits/node/client.js", "internal/kits/node/locklab.js", "internal/kits/python/client.py", "internal/kits/python/locklab.py", "internal/kits/shell/lock.sh", "internal/kits/java/Client.java",
		"adapters/ruby/redis_rb.rb", "worker/client/client.go",
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(file)))
		require.NoError(t, err)
		found := literals.FindAll(text, -1)
		assert.NotEmpty(t, found, file)
		for _, literal := range found {
			script := regexp.MustCompile("^[\"'`]+|[\"'`]+$").ReplaceAll(literal, nil)
			assert.Empty(t, scope.Refusal([][]byte{[]byte("EVAL"), script, []byte("0")}), "%s: %s", file, script)
		}
	}
}
