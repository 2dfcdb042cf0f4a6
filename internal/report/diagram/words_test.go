package diagram

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
)

func TestCommandsAreShortened(t *testing.T) {
	sha := strings.Repeat("0123456789", 4)
	require.Equal(t, "EVALSHA 01234567… 1 k", commandWords(&history.Command{Args: []string{"EVALSHA", sha, "1", "k"}}))
	require.Equal(t, "SET k "+strings.Repeat("v", 39)+"… (late)", commandWords(&history.Command{Args: []string{"SET", "k", strings.Repeat("v", 99)}, Late: true}))
}
