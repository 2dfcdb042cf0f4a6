package process

import (
	"testing"

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
