package scenarios

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed scripts/*.lab
var scripts embed.FS

// Builtin returns the built-in scripts of those names; without names, all of them in their order for readers. Callers share these, and change none.
func Builtin(names ...string) ([]*Script, error) {
	if len(names) > 0 {
		return readBuiltin(names)
	}
	all, err := everyBuiltin()
	return slices.Clone(all), err
}

var everyBuiltin = sync.OnceValues(func() ([]*Script, error) { return readBuiltin(order()) })

func readBuiltin(names []string) ([]*Script, error) {
	var all []*Script
	for _, name := range names {
		src, err := scripts.ReadFile(path.Join("scripts", name+suffix))
		if err != nil {
			return nil, fmt.Errorf("no scenario %q comes with the lab", name)
		}
		script, err := Parse(name+suffix, src)
		if err != nil {
			return nil, err
		}
		script.Builtin = true
		all = append(all, script)
	}
	return all, nil
}

// Source is the text of a built-in script.
func Source(name string) (text string, ok bool) {
	src, err := scripts.ReadFile(path.Join("scripts", name+suffix))
	return string(src), err == nil
}

// Find returns the script of that name.
func Find(scripts []*Script, name string) (*Script, bool) {
	for _, script := range scripts {
		if script.Name == name {
			return script, true
		}
	}
	return nil, false
}

// suffix ends the names of script files.
const suffix = ".lab"

// nameOf is the name of the scenario in the file at path.
func nameOf(file string) string {
	return strings.TrimSuffix(path.Base(strings.ReplaceAll(file, `\`, "/")), suffix)
}

//go:embed scripts/order.txt
var ordered string

// order lists the scripts in the order for readers.
func order() []string {
	var names []string
	for line := range strings.Lines(ordered) {
		if name := strings.TrimSpace(line); name != "" && !strings.HasPrefix(name, "#") {
			names = append(names, name)
		}
	}
	return names
}
