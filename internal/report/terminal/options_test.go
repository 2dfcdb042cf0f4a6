package terminal

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDetectTerminal(t *testing.T) {
	file, err := os.Open(os.DevNull) // a character device, which is as much of a terminal as a test can have
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for name, c := range map[string]struct {
		env        func(string) string
		color, bar bool
	}{
		"terminal": {env("TERM", "xterm"), true, true},
		"dumb":     {env("TERM", "dumb"), false, false},
		"NO_COLOR": {env("NO_COLOR", "1"), false, true},
		"CI":       {env("CI", "true"), true, false},
	} {
		opts := Detect(file, file, c.env)
		require.Equal(t, c.color, opts.Color, name)
		require.Equal(t, c.bar, opts.Bar, name)
	}
}
