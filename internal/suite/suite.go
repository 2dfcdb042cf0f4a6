// Package suite reads locklab.toml, the file in which a repository says what lab run and lab storm do there.
//
// It owns the file's place and syntax: tables, keys, values and their lines. It must not know which keys there are: they are the flags of commands.
package suite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Name is what the file is called where nobody names one.
const Name = "locklab.toml"

// File is a file that has been read.
type File struct {
	Path string
	Keys []Key // in the order of their lines
}

// Key is a key with its value: a string, bool, int64, float64, []any, or a date.
type Key struct {
	Table string // empty: it stands before the first table
	Name  string
	Line  int
	Value any
}

// Error is a mistake in a file.
type Error struct {
	Path string
	Line int
	What string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.What) }

// Wrong is a mistake in the file.
func (f *File) Wrong(line int, format string, args ...any) error {
	return &Error{f.Path, line, fmt.Sprintf(format, args...)}
}

// Find looks for the file in dir, and in its parents up to the root of the repository, and returns its path relative to dir; empty: there is none.
// Where there is no repository, it looks in dir alone.
func Find(dir string) (string, error) {
	path, up := Name, dir
	found := ""
	for {
		if info, err := os.Stat(filepath.Join(up, Name)); err == nil && !info.IsDir() && found == "" {
			found = path
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if _, err := os.Lstat(filepath.Join(up, ".git")); err == nil { // a file in a worktree
			return found, nil
		}
		if up == filepath.Dir(up) {
			if found != Name {
				found = ""
			}
			return found, nil
		}
		path, up = filepath.Join("..", path), filepath.Dir(up)
	}
}

// Parse reads a file. The error is an Error.
func Parse(path string, src []byte) (*File, error) {
	f := &File{Path: path}
	var values map[string]any
	if err := toml.Unmarshal(src, &values); err != nil {
		line := 1
		if wrong := new(toml.DecodeError); errors.As(err, &wrong) {
			line, _ = wrong.Position()
		}
		return nil, f.Wrong(line, "%s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	lines, err := linesOf(src)
	if err != nil {
		return nil, f.Wrong(1, "%v", err)
	}
	if err := f.add("", 1, values, lines); err != nil {
		return nil, err
	}
	slices.SortStableFunc(f.Keys, func(a, b Key) int { return a.Line - b.Line })
	return f, nil
}

// add adds the keys of a table.
func (f *File) add(table string, at int, values map[string]any, lines map[string]int) error {
	for name, value := range values {
		path := name
		if table != "" {
			path = table + "\x00" + name
		}
		line := at
		if own, ok := lines[path]; ok {
			line = own
		}
		inner, isTable := value.(map[string]any)
		switch {
		case !isTable:
			f.Keys = append(f.Keys, Key{table, name, line, value})
		case table != "":
			return f.Wrong(line, "there are no tables in table %q, such as %q", table, name)
		default:
			if len(inner) == 0 {
				f.Keys = append(f.Keys, Key{name, "", line, nil}) // an empty table still has a name to be known
			}
			if err := f.add(name, line, inner, lines); err != nil {
				return err
			}
		}
	}
	return nil
}

// linesOf are the lines of tables and keys, by their names with a zero byte between.
func linesOf(src []byte) (map[string]int, error) {
	lines, table := map[string]int{}, []string(nil)
	var p unstable.Parser
	p.Reset(src)
	for p.NextExpression() {
		e := p.Expression()
		var names []string
		line := 0
		for key := e.Key(); key.Next(); {
			if names = append(names, string(key.Node().Data)); line == 0 {
				line = p.Shape(key.Node().Raw).Start.Line
			}
		}
		if e.Kind != unstable.KeyValue {
			table = names
		} else {
			names = slices.Concat(table, names)
		}
		for n := range names {
			if path := strings.Join(names[:n+1], "\x00"); lines[path] == 0 {
				lines[path] = line
			}
		}
	}
	return lines, p.Error()
}
