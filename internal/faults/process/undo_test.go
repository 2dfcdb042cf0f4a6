//go:build linux || darwin

package process

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// undos are those of the guard in these tests: "file" removes a file, "trouble" cannot.
func undos() map[string]Undo {
	return map[string]Undo{
		"file": func(_ context.Context, paths []string) (found bool, err error) {
			for _, path := range paths {
				err := os.Remove(path)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					return false, err
				}
				found = found || err == nil
			}
			return found, nil
		},
		"trouble": func(context.Context, []string) (bool, error) { return false, errors.New("nobody answers") },
	}
}

func TestCloseUndoes(t *testing.T) {
	g, err := StartGuard(as("guard"))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "a file")
	require.NoError(t, g.Undo("file", file), "before it exists")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, g.Close())
	require.NoFileExists(t, file)
	require.ErrorIs(t, g.Undo("file", file), errClosed)
}

func TestWhatIsForgottenIsNotUndone(t *testing.T) {
	g, err := StartGuard(as("guard"))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, g.Undo("trouble", "x"))
	require.NoError(t, g.Undo("file", file))
	require.NoError(t, g.ForgetUndo("trouble"))
	require.NoError(t, g.Close())
	require.NoFileExists(t, file)
	require.ErrorIs(t, g.ForgetUndo("file"), errClosed)
}

func TestCloseSaysWhatCannotBeUndone(t *testing.T) {
	g, err := StartGuard(as("guard"))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, g.Undo("trouble", "x"))
	require.NoError(t, g.Undo("unheard-of", "x"))
	require.NoError(t, g.Undo("file", file))
	err = g.Close()
	require.ErrorContains(t, err, "undo trouble: nobody answers")
	require.ErrorContains(t, err, `undo unheard-of: nothing that can be undone`)
	require.NoFileExists(t, file, "what can be undone is")
}

func TestUndoTakesOneLine(t *testing.T) {
	g := startGuard(t)
	for _, words := range [][2]string{{"", "x"}, {"file", ""}, {"two words", "x"}, {"fi\nle", "x"}, {"file", "x\ndir /a"}, {"file", "x\r"}} {
		require.ErrorContains(t, g.Undo(words[0], words[1]), "not one line")
	}
}

// What arrives late is undone as well, and one that never comes to an end is given up.
func TestUndoUntilNothingIsFound(t *testing.T) {
	for name, test := range map[string]struct {
		found []bool // by the calls; afterwards always the last
		calls int    // 0: as many as there is time for
		err   string
	}{
		"nothing":    {found: []bool{false}, calls: 2},
		"something":  {found: []bool{true, false}, calls: 3},
		"late":       {found: []bool{true, false, true, false}, calls: 5},
		"late twice": {found: []bool{false, true, true, false}, calls: 5},
		"endless":    {found: []bool{true}, err: "there is always more: it takes too long"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				w := wards{undos: map[string]Undo{"it": func(context.Context, []string) (bool, error) {
					calls++
					return test.found[min(calls, len(test.found))-1], nil
				}}}
				began := time.Now()
				err := w.undo(task{"it", []string{"x"}})
				require.LessOrEqual(t, time.Since(began), undoPatience)
				if test.err != "" {
					require.ErrorContains(t, err, test.err)
					return
				}
				require.NoError(t, err)
				require.Equal(t, test.calls, calls)
			})
		})
	}
}

func TestUndoIsGivenLittleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := wards{undos: map[string]Undo{"it": func(ctx context.Context, _ []string) (bool, error) {
			<-ctx.Done()
			return false, context.Cause(ctx)
		}}}
		require.ErrorContains(t, w.undo(task{"it", []string{"x"}}), "undo it: it takes too long")
	})
}

func TestKillDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deathless := &Process{pid: 4711, reaped: true, done: make(chan struct{})} // no number is signalled after its process is reaped
		began := time.Now()
		require.ErrorContains(t, deathless.Kill(context.Background()), "kill process 4711: not seen to take effect")
		require.Equal(t, patience, time.Since(began))
	})
}
