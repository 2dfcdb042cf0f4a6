package run

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/suite"
)

const top = "../../../.." // of the sources

var update = flag.Bool("update", false, "rewrite golden files, for review")

// TestConfigurationPage: the page lists each key with the commands that have it and what it takes.
func TestConfigurationPage(t *testing.T) {
	markdown := strings.NewReplacer("|", `\|`, "<", "&lt;")
	type row struct{ commands, takes, meaning string }
	rows := map[string]row{
		"scenarios": {"run", "a list of strings", "names of scenarios, and .lab files, also by patterns (default: all that come with the lab)"},
		"shards":    {"run, storm", "a whole number", "how many parts there are: `--shard 1` is then the first"},
	}
	var names []string
	for _, cmd := range suiteCommands() {
		for _, name := range keysOf(cmd) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			flag := cmd.Flags().Lookup(name)
			if flag == nil {
				continue
			}
			_, usage := pflag.UnquoteUsage(flag)
			takes := cli.ValueOf(flag.Value.Type())
			if _, many := flag.Value.(pflag.SliceValue); many {
				takes = "a list of strings"
			}
			meaning := markdown.Replace(regexp.MustCompile(` \(default: \d+ in[^)]*\)`).ReplaceAllString(usage, "")) // not of this machine
			r, seen := rows[name]
			switch {
			case !seen:
				r = row{cmd.Name(), takes, meaning}
			default:
				r.commands += ", " + cmd.Name()
				if r.meaning != meaning {
					r.meaning += "; storm: " + meaning
				}
			}
			rows[name] = r
		}
	}
	slices.Sort(names)
	want := "| key | of lab | takes | what it does |\n| --- | --- | --- | --- |\n"
	for _, name := range names {
		r := rows[name]
		want += fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, r.commands, r.takes, r.meaning)
	}
	const path, begin, end = top + "/docs/tables/configuration.md", "-run TestConfigurationPage -update -->\n", "<!-- end of what is generated -->\n"
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(page), begin)
	require.True(t, ok)
	got, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(before+begin+want+end+after), 0o644))
		return
	}
	assert.Equal(t, want, got, "run go test ./cmd/lab/internal/run -run TestConfigurationPage -update")
}

// TestSuiteExample: what lab init writes is read, also with all that it has as comments.
func TestSuiteExample(t *testing.T) {
	t.Chdir(t.TempDir())
	begin := Init()
	begin.SetArgs([]string{})
	begin.SetOut(io.Discard)
	require.NoError(t, begin.ExecuteContext(t.Context()))
	example, err := os.ReadFile(suite.Name)
	require.NoError(t, err)
	all := regexp.MustCompile(`(?m)^# (\w+ *= )`).ReplaceAll(example, []byte("$1"))
	for _, text := range [][]byte{example, all} {
		file, err := suite.Parse(suite.Name, text)
		require.NoError(t, err)
		assert.NoError(t, checkSuite(file))
	}
	file, _ := suite.Parse(suite.Name, all)
	assert.Greater(t, len(file.Keys), 10)
}

// TestSuiteInDocs: the examples of the pages are read.
func TestSuiteInDocs(t *testing.T) {
	pages, err := filepath.Glob(top + "/README*.md")
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(top+"/docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	}))
	seen := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			seen++
			file, err := suite.Parse(page, []byte(m[1]))
			require.NoError(t, err)
			assert.NoError(t, checkSuite(file))
		}
	}
	assert.Positive(t, seen)
}
