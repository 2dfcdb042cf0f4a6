package clients

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStderrIsQuoted: a verdict quotes the end of what a client wrote, and the line with its error where a trace of calls has pushed that out.
func TestStderrIsQuoted(t *testing.T) {
	t.Parallel()
	calls := strings.Repeat("    at ModuleLoader.resolve (node:internal/modules/esm/loader:640:38)\n", 8)
	for name, c := range map[string]struct{ text, begins, ends string }{
		"nothing": {},
		"a word":  {"no luck today\n", "; stderr: no luck today", ""},
		"a trace behind the error": {
			"node:internal/errors:496\n\nError [ERR_MODULE_NOT_FOUND]: Cannot find package 'ioredis'\n" + calls + "Node.js v20\n",
			"; stderr: Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'ioredis' … ", "Node.js v20",
		},
		"a trace before the error": {
			"Traceback (most recent call last):\n" + calls + "ModuleNotFoundError: No module named 'redis'\n",
			"; stderr: ", "ModuleNotFoundError: No module named 'redis'",
		},
		"a long line": {"panic: " + strings.Repeat("ä", 4000) + "\nexit status 2\n", "; stderr: panic: ä", "ä exit status 2"},
		"no error":    {strings.Repeat("all is well\n", 1000) + "the end\n", "; stderr: ", "all is well the end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept, client, err := keepStderr(func() string { return "" })
			require.NoError(t, err)
			written, err := fmt.Fprint(client, c.text)
			require.NoError(t, err)
			require.Len(t, c.text, written)
			require.NoError(t, client.Close())
			require.NoError(t, kept.Close())
			quoted := kept.String()
			require.True(t, strings.HasPrefix(quoted, c.begins) && strings.HasSuffix(quoted, c.ends), quoted)
			require.LessOrEqual(t, len(quoted), maxQuoted+len("; stderr:  … "))
		})
	}
}
