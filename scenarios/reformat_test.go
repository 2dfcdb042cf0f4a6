package scenarios

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestReformat(t *testing.T) {
	got, err := Reformat("x.lab", []byte("\n\n#Title\r\n#   more\n##  even more\nclients C1,Bob #two\nlease 60s    # of each\n\n\n\nrepeat  03 # rounds\n"+
		"Bob release   anyway=>ok|no #  so\n end\n#last\nwait   until freed\t# at last\nC1 clock behind 1 leases #\n\n\n"))
	require.NoError(t, err)
	assert.Equal(t, `# Title
#   more
##  even more
clients  C1 Bob  # two
lease    1m      # of each

repeat 3                        # rounds
Bob  release anyway => ok | no  #  so
end
# last
     wait until freed           # at last
C1   clock behind 1 lease       #
`, string(got))
}

// commentsOf are the comments of a source, without the blanks around them.
func commentsOf(src []byte) (all []string) {
	for _, l := range splitLines(src, &complaints{}) {
		if comment := strings.TrimSpace(l.text[len(withoutComment(l.text)):]); comment != "" {
			all = append(all, strings.TrimSpace(strings.TrimPrefix(comment, "#")))
		}
	}
	return all
}

// holdReformat: the script and its comments stay the same, and what is formatted stays as it is.
func holdReformat(t require.TestingT, src []byte) {
	script, err := Parse("x.lab", src)
	require.NoError(t, err)
	formatted, err := Reformat("x.lab", src)
	require.NoError(t, err)
	again, err := Parse("x.lab", formatted)
	require.NoError(t, err, "%s", formatted)
	require.Equal(t, substance(script), substance(again), "%s", formatted)
	require.True(t, slices.Equal(commentsOf(src), commentsOf(formatted)), "%s", formatted)
	twice, err := Reformat("x.lab", formatted)
	require.NoError(t, err)
	require.Equal(t, string(formatted), string(twice))
}

// TestBuiltinScriptsAreFormatted: write them by go run ./cmd/lab fmt -w scenarios/scripts.
func TestBuiltinScriptsAreFormatted(t *testing.T) {
	for _, name := range order() {
		src, err := scripts.ReadFile("scripts/" + name + suffix)
		require.NoError(t, err)
		formatted, err := Reformat(name+suffix, src)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(src, formatted), "lab fmt changes %s", name)
		holdReformat(t, src)
	}
}

func TestReformatRandomScripts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := strings.Split(drawScript(t), "\n")
		for i := range lines {
			lines[i] += rapid.SampledFrom([]string{"", "", "  ", " #x", "\t# y  z ", " ##", "\n", "\n\n  # alone\n"}).Draw(t, "after")
		}
		src := []byte(strings.Join(lines, "\n"))
		if _, err := Parse("x.lab", src); err == nil { // a comment may have grown too long
			holdReformat(t, src)
		}
	})
}

func FuzzReformat(f *testing.F) {
	for _, name := range order() {
		src, err := scripts.ReadFile("scripts/" + name + suffix)
		require.NoError(f, err)
		f.Add(src)
	}
	f.Add([]byte("#a\n\nlease 1s #b\nclients C1\nrepeat +3 # c\nC1 acquire\nend,\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if _, err := Parse("x.lab", src); err == nil {
			holdReformat(t, src)
		}
	})
}
