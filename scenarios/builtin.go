package scenarios

import (
	"embed"
	"path"
	"strings"
)

//go:embed scripts/*.lab
var scripts embed.FS

// Builtin returns the scripts that come with the lab, in the order in which a reader should meet them.
func Builtin() ([]*Script, error) {
	var all []*Script
	for _, name := range order() {
		src, err := scripts.ReadFile(path.Join("scripts", name+suffix))
		if err != nil {
			return nil, err
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

// Source is the text of a script that comes with the lab.
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

// suffix is how the names of script files end.
const suffix = ".lab"

// nameOf is the name of the scenario in the file at path.
func nameOf(file string) string {
	return strings.TrimSuffix(path.Base(strings.ReplaceAll(file, `\`, "/")), suffix)
}

// order lists the scripts as a reader should meet them: first that a lock works, then what ends a lease under its holder,
// then lost and late messages, then clocks, then the races of single algorithms, then the server.
func order() []string {
	return []string{
		"take-turns",
		"holder-crashes",
		"renewing-holder-killed",
		"pause-past-lease",
		"stopped-between-check-and-delete",
		"work-longer-than-lease",
		"cut-off-past-lease",
		"acquire-reply-lost",
		"acquire-reply-lost-resent",
		"release-reply-lost",
		"release-reply-lost-resent",
		"late-acquire",
		"clock-ahead",
		"clock-behind",
		"clock-behind-waiting",
		"server-clock-jumps",
		"both-judge-expired",
		"released-between-setnx-and-get",
		"released-between-get-and-getset",
		"redis-restarts-empty",
	}
}
