package outcome

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWithSeedKeepsASeedThatIsNamed(t *testing.T) {
	require.Equal(t, []string{"run", "--seed", "7"}, WithSeed([]string{"run"}, 7))
	require.Equal(t, []string{"run", "--seed", "9"}, WithSeed([]string{"run", "--seed", "9"}, 7))
	require.Equal(t, []string{"run", "--seed=9"}, WithSeed([]string{"run", "--seed=9"}, 7))
}
