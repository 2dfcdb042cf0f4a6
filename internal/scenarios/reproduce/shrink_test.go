package reproduce_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/scenarios/reproduce"
	"github.com/locklab/locklab/scenarios"
)

func body(s *scenarios.Script) string {
	text := string(scenarios.Format(s))
	_, steps, _ := strings.Cut(text, "\n\n")
	return steps
}

// TestShrink leaves out all that is not needed, and says so by playing nothing that makes no sense.
func TestShrink(t *testing.T) {
	script, err := scenarios.Parse("race.lab", []byte(`# A race.
lease 1s
clients C1 C2 C3 C4
C1 acquire
C1 release
C2 acquire
C3 acquire hold before first GET
C2 release hold before first DEL
C3 continue
wait until expired
C4 acquire hold reply of first SET
C4 continue
C2 continue
C1 acquire
`))
	require.NoError(t, err)
	needed := func(s *scenarios.Script) bool {
		text := body(s)
		at := 0
		for _, step := range []string{"release hold before first DEL", "wait until expired", "acquire", "continue"} {
			i := strings.Index(text[at:], step)
			if i < 0 {
				return false
			}
			at += i
		}
		return true
	}
	played := 0
	small, err := reproduce.Shrink(script, func(scripts []*scenarios.Script) ([]bool, error) {
		shown := make([]bool, len(scripts))
		for i, s := range scripts {
			played++
			_, err := reproduce.Check(s)
			require.NoError(t, err)
			require.False(t, slices.ContainsFunc(s.Clients, func(c string) bool { return !strings.Contains(body(s), c) }))
			shown[i] = needed(s)
		}
		return shown, nil
	})
	require.NoError(t, err)
	require.Equal(t, strings.TrimPrefix(`
C1  acquire
C1  release hold before first DEL
    wait until expired
C2  acquire
C1  continue
`, "\n"), body(small))
	require.Less(t, played, 250)
}

// TestFurtherLocksOfAProcess keep their process where two of them are used; one alone is its client's.
func TestFurtherLocksOfAProcess(t *testing.T) {
	script, err := scenarios.Parse("race.lab", []byte(`# A race.
lease 1s
clients C7 C7.c C8 C8.b C9
C7.c acquire
C8 acquire
C8.b acquire
C9 acquire
C7 pause
C7 resume
C8.b release
`))
	require.NoError(t, err)
	small, err := reproduce.Shrink(script, func(scripts []*scenarios.Script) ([]bool, error) {
		shown := make([]bool, len(scripts))
		for i, s := range scripts {
			text := body(s)
			shown[i] = strings.Contains(text, "C7.c") && strings.Contains(text, "C7    pause") && strings.Contains(text, "C8    acquire") &&
				strings.Contains(text, "C8.b  release")
		}
		return shown, nil
	})
	require.NoError(t, err)
	require.Equal(t, strings.TrimPrefix(`
C1    acquire
C2    acquire
C2.b  acquire
C1    pause
C1    resume
C2.b  release
`, "\n"), body(small))
	require.Equal(t, []string{"C1", "C2", "C2.b"}, small.Actors())
}

// TestShrinkEnds: to leave out a client that does nothing itself, because only a further lock of its process acts, leaves out nothing.
func TestShrinkEnds(t *testing.T) {
	script, err := scenarios.Parse("race.lab", []byte("lease 60s\nclients C1 C2 C2.b\nC1 acquire => ok\nC2.b acquire => ok\nC2.b release => ok\n"))
	require.NoError(t, err)
	rounds := 0
	small, err := reproduce.Shrink(script, func(scripts []*scenarios.Script) ([]bool, error) {
		rounds++
		require.Less(t, rounds, 20)
		shown := make([]bool, len(scripts))
		for i, s := range scripts {
			shown[i] = len(s.Clients) == 2 && len(s.Steps) >= 2
		}
		return shown, nil
	})
	require.NoError(t, err)
	require.Len(t, small.Steps, 2)
}

// TestShrinkKeepsTheWait: whether a client has reached the queue is nothing that the model can need.
func TestShrinkKeepsTheWait(t *testing.T) {
	script, err := scenarios.Parse("race.lab", []byte(`lease 1s
clients C1 C2 C3
C1 acquire
C2 acquire within 10 leases in background
C2 waits
C2 crash
C3 acquire within 10 leases in background
C3 waits
C1 release
C3 await
`))
	require.NoError(t, err)
	small, err := reproduce.Shrink(script, func(scripts []*scenarios.Script) ([]bool, error) {
		shown := make([]bool, len(scripts))
		for i, s := range scripts {
			shown[i] = strings.Contains(body(s), "C2  acquire within 10 leases in background")
		}
		return shown, nil
	})
	require.NoError(t, err)
	require.Equal(t, "C1  acquire within 10 leases in background\nC1  waits\nC1  crash\n", body(small))
}
