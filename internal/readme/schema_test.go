package readme

import (
	"archive/zip"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/scenarios"
)

// schema compiles the published schema of a line.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	s, err := compiler.Compile(filepath.Join("..", "..", "docs", "tables", "history.schema.json"))
	require.NoError(t, err)
	return s
}

// hold checks each line of a history against the schema, and counts the kinds of events.
func hold(s *jsonschema.Schema, r io.Reader, kinds map[string]int) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 8<<20)
	for n := 1; lines.Scan(); n++ {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(lines.Text()))
		if err == nil {
			err = s.Validate(value)
		}
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", n, lines.Text(), err)
		}
		kind, _ := value.(map[string]any)["kind"].(string)
		kinds[kind]++
	}
	return lines.Err()
}

// isHistory says whether a file of that name has histories: one, or those of a scenario's cells one after the other.
func isHistory(name string) bool {
	return strings.HasSuffix(name, ".jsonl") && strings.Contains(path.Base(name), "histor") || strings.HasSuffix(name, ".jsonl.gz")
}

// histories finds the histories below a directory, packed ones too.
func histories(t *testing.T, root string, found func(name string, r io.Reader)) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules") {
				return fs.SkipDir
			}
			return err
		}
		switch {
		case strings.HasSuffix(name, ".zip"):
			pack, err := zip.OpenReader(name)
			if err != nil {
				return err
			}
			defer pack.Close()
			for _, entry := range pack.File {
				if !isHistory(entry.Name) {
					continue
				}
				r, err := entry.Open()
				if err != nil {
					return err
				}
				found(name+":"+entry.Name, r)
			}
		case isHistory(name):
			file, err := os.Open(name)
			if err != nil {
				return err
			}
			defer file.Close()
			var r io.Reader = file
			if strings.HasSuffix(name, ".gz") {
				if r, err = gzip.NewReader(file); err != nil {
					return err
				}
			}
			found(name, r)
		}
		return nil
	}))
}

// oneIn is of how many scenarios one is played, with every lock: the whole suite takes a minute.
const oneIn = 20

// The schema allows every history in the repository, and what the suite writes now, packed or not; every kind of event is among them.
func TestSchemaAllowsHistories(t *testing.T) {
	s, kinds, files := schema(t), map[string]int{}, 0
	found := func(name string, r io.Reader) {
		files++
		require.NoError(t, hold(s, r, kinds), name)
	}
	histories(t, filepath.Join("..", ".."), found)
	assert.Greater(t, files, 25, "there are more in cmd/lab/testdata and lab/testdata")

	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	matrix, err := scenarios.BuiltinExpected()
	require.NoError(t, err)
	var some []*scenarios.Script
	for i := 0; i < len(scripts); i += oneIn {
		some = append(some, scripts[i])
	}
	dir := filepath.Join(t.TempDir(), "run")
	locks := impls.Every()
	locks = locks[:needs.Count(t, "locks", 20, len(locks))]
	cases := lab.Cases(some, lab.Subjects(locks...), 1, lab.Expect(matrix))
	_, err = lab.Run(t.Context(), lab.Plan{Cases: cases, Options: lab.Options{Setting: lab.Setting{World: lab.Sim}, Results: lab.Results{Dir: dir}}})
	require.NoError(t, err)
	assert.FileExists(t, filepath.Join(dir, lab.PackFile))
	histories(t, dir, found)
	for kind := history.KindOpen; kind <= history.KindEnd; kind++ {
		assert.NotZero(t, kinds[kind.String()], "no event %q", kind)
	}
}

// The schema refuses what is in no history.
func TestSchemaRefuses(t *testing.T) {
	s := schema(t)
	const call = `{"at":1,"kind":"call","client":"C1","op":"acquire","id":1,"lock":"k"}`
	require.NoError(t, hold(s, strings.NewReader(call), map[string]int{}))
	for _, line := range []string{
		`{}`, `[]`, `{"locklab_history":2,"base":"2026-01-02T03:04:05Z"}`, `{"locklab_history":1,"base":"yesterday"}`, `{"locklab_history":1,"base":"2026-01-02T03:04:05Z","more":1}`,
		strings.Replace(call, `"at":1`, `"at":-1`, 1), strings.Replace(call, `"at":1,`, ``, 1), strings.Replace(call, `"call"`, `"shout"`, 1), strings.Replace(call, `"acquire"`, `"steal"`, 1),
		strings.Replace(call, `"id":1`, `"id":0`, 1), strings.Replace(call, `"id":1`, `"id":1,"more":1`, 1), strings.Replace(call, `"id":1`, `"id":1,"outcome":"ok"`, 1),
		strings.Replace(call, `"id":1`, `"id":1,"detail":{"bound":1,"more":1}`, 1),
		`{"at":1,"kind":"open","client":"C1","lock":"k","detail":{"leaseless":false}}`,
		`{"at":1,"kind":"command","client":"C1","detail":{"command":{"server":"redis","args":[]}}}`,
		`{"at":1,"kind":"command","client":"C1","detail":{"command":{"server":"redis","args":["GET"],"changes":[{"before":{},"after":{"typ":"string"}}]}}}`,
		`{"at":1,"kind":"fault","detail":{"fault":{"name":"pause","phase":"sometime"}}}`,
		`{"at":1,"kind":"end","detail":{"text":"well"}}`,
	} {
		var wrong *jsonschema.ValidationError
		assert.True(t, errors.As(hold(s, strings.NewReader(line), map[string]int{}), &wrong), line)
	}
}
