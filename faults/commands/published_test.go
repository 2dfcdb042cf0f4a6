package commands

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPublishedScriptsPass: the scripts of the libraries in adapters, as they publish them, stay within what they declare.
func TestPublishedScriptsPass(t *testing.T) {
	scope := NewTable().NewScope(func([]byte) bool { return false })
	files, err := filepath.Glob("testdata/published/*.lua")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Empty(t, scope.Refusal([][]byte{[]byte("EVAL"), text, []byte("0")}), file)
	}
}

// literals are the strings of a program, in the quotes of any language, that are scripts.
var literals = regexp.MustCompile("(?s)\"\"\"(?:if|return|local) (?:.*?)\"\"\"|`(?:if|return|local) [^`]*`|'(?:if|return|local) [^']*redis\\.call[^']*'|\"(?:if|return) [^\"]*redis\\.call[^\"]*\"")

// TestScriptsOfKitsPass finds the scripts in the sources of the kits, and of programs that are written without one.
func TestScriptsOfKitsPass(t *testing.T) {
	scope := NewTable().NewScope(func([]byte) bool { return false })
	for _, file := range []string{
		"kits/go/main.go.txt", "kits/node/client.js", "kits/node/locklab.js", "kits/python/client.py", "kits/python/locklab.py", "kits/shell/lock.sh", "kits/java/Client.java",
		"adapters/ruby/redis_rb.rb", "worker/client/client.go",
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
		require.NoError(t, err)
		found := literals.FindAll(text, -1)
		assert.NotEmpty(t, found, file)
		for _, literal := range found {
			script := regexp.MustCompile("^[\"'`]+|[\"'`]+$").ReplaceAll(literal, nil)
			assert.Empty(t, scope.Refusal([][]byte{[]byte("EVAL"), script, []byte("0")}), "%s: %s", file, script)
		}
	}
}
