package deploytest

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestActionsArePinned: a tag can be moved to other code, a commit cannot. The tag that it was is beside it, for those who bring it up to date.
func TestActionsArePinned(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	files = append(files, filepath.Join(root, "action.yml"), filepath.Join(root, "docs", "ci.md"))
	commits := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, used := range regexp.MustCompile(`(?m)\buses: *(.*)$`).FindAllStringSubmatch(string(text), -1) {
			if used[1][:2] == "./" {
				continue
			}
			pin := regexp.MustCompile(`^([a-z-]+/[a-z-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+$`).FindStringSubmatch(used[1])
			if assert.NotNil(t, pin, "%s: %s", file, used[1]) && commits[pin[1]] != "" {
				assert.Equal(t, commits[pin[1]], used[1], "%s: another one than elsewhere", file)
			} else if pin != nil {
				commits[pin[1]] = used[1]
			}
		}
	}
	assert.NotEmpty(t, commits)
}
