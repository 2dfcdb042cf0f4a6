package process

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseStat(t *testing.T) {
	for name, test := range map[string]struct {
		line string
		want stat
		err  bool
	}{
		"plain":        {line: "12 (sh) S 1 12 12 0", want: stat{state: 'S', parent: 1, pgid: 12}},
		"strange name": {line: "12 (a) R 1 (b) T 1 99 12 0", want: stat{state: 'T', parent: 1, pgid: 99}},
		"stack": {
			line: "12 (sh) S 1 12 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 7340",
			want: stat{state: 'S', parent: 1, pgid: 12, stack: "27"},
		},
		"empty":         {err: true},
		"cut":           {line: "12 (sh) S 1", err: true},
		"no name":       {line: "12 sh S 1 12", err: true},
		"no parent":     {line: "12 (sh) S x 12 12", err: true},
		"no group":      {line: "12 (sh) S 1 x 12", err: true},
		"longer states": {line: "12 (sh) SS 1 12 12", err: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat([]byte(test.line))
			require.Equal(t, test.err, err != nil, "%v", err)
			require.Equal(t, test.want, got)
		})
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (sh) S 1 12 12 0"))
	f.Fuzz(func(_ *testing.T, line []byte) { _, _ = parseStat(line) })
}

// TestDescendants: those in the group, and those that have left it, also after the one that started them has ended.
func TestDescendants(t *testing.T) {
	g := startGuard(t)
	cmd := exec.Command("sh", "-c", `sleep 86400 & setsid sh -c 'sleep 86400 & echo $! $$; wait' & wait`)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	p, err := g.Start(cmd)
	require.NoError(t, err)
	other := startChild(t, g)
	var grandchild, child int
	_, err = fmt.Fscan(out, &grandchild, &child)
	require.NoError(t, err)

	group, left, err := g.Descendants(p)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, []int{group, left})
	_, left, err = g.Descendants(other.Process)
	require.NoError(t, err)
	require.Zero(t, left, "those of another process")

	require.NoError(t, kill(grandchild))
	require.NoError(t, kill(child))
	require.Eventually(t, func() bool {
		_, left, err := g.Descendants(p)
		return err == nil && left == 0
	}, patience, time.Millisecond)
}
