package lab

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
)

func TestTogether(t *testing.T) {
	one, two := `{"locklab_history":1,"cell":"a.1"}`+"\n"+`{"at":1,"kind":"step"}`+"\n", `{"locklab_history":1,"cell":"b.1"}`+"\n"
	all, err := together(strings.NewReader(one + two))
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"a.1": []byte(one), "b.1": []byte(two)}, all)
	all, err = together(strings.NewReader("lost\n" + two + strings.TrimSpace(one)))
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"b.1": []byte(two), "a.1": []byte(strings.TrimSpace(one))}, all)
}

// FuzzTogether: whatever follows whatever, each history is a part of the text that begins with its header.
func FuzzTogether(f *testing.F) {
	f.Add([]byte(`{"locklab_history":1,"cell":"a.1"}` + "\n" + `{"at":1,"kind":"step"}` + "\n" + `{"locklab_history":1,"cell":"b.1"}` + "\n"))
	f.Add([]byte("\n\n{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := together(bytes.NewReader(text))
		require.NoError(t, err)
		for name, one := range all {
			require.True(t, bytes.Contains(text, one))
			line, _, _ := bytes.Cut(one, []byte("\n"))
			require.NotEmpty(t, line, name)
			_, _ = history.Read(t.Context(), bytes.NewReader(one), name)
		}
	})
}
