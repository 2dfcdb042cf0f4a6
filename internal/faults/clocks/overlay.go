package clocks

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// edit replaces a place in a file of the Go sources, which must be there so many times.
type edit struct {
	file  string // below src
	place *regexp.Regexp
	times int
	by    string
}

// edits have package time read clocks, sleep and arm timers by the functions of hooks/clock.go.txt. A timer keeps the time at which it was armed to
// fire.
func edits() []edit {
	return []edit{
		{"time/time.go", regexp.MustCompile(`(?m)^(\tsec, nsec, mono := )(?:now|runtimeNow)\(\)$`), 1, "${1}locklabClocks()"},
		{"time/time.go", regexp.MustCompile(`(subMono\((?:t\.ext, )?)runtimeNano\(\)`), 2, "${1}locklabNano()"},
		{"time/sleep.go", regexp.MustCompile(`(?m)^func Sleep\(d Duration\)$`), 1, "func locklabSleep(d Duration)"},
		{"time/sleep.go", regexp.MustCompile(`runtimeNano\(\) \+ int64\(d\)`), 1, "runtimeNano() + locklabTrue(d)"},
		{"time/tick.go", regexp.MustCompile(`when\(d\), int64\(d\)`), 2, "when(d), locklabTrue(d)"},
		{"runtime/time.go", regexp.MustCompile(`(?m)^//go:linkname timeSleep time\.Sleep$`), 1, "//go:linkname timeSleep time.locklabSleep"},
	}
}

// readsClock is what package time asks the runtime for both clocks: its name differs from version to version.
var readsClock = regexp.MustCompile(`(?m)^\tsec, nsec, mono := (now|runtimeNow)\(\)$`)

// WriteOverlay writes an overlay for go build into a directory: a program built with it reads the clock that the lab sets. goroot is that of the Go which
// builds it, and is left alone. The path is that of the overlay.
func WriteOverlay(goroot, dir string) (path string, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	texts := map[string]string{}
	for _, e := range edits() {
		if texts[e.file] == "" {
			text, err := os.ReadFile(filepath.Join(goroot, "src", e.file))
			if err != nil {
				return "", fmt.Errorf("sources of Go: %w", err)
			}
			texts[e.file] = string(text)
		}
		if n := len(e.place.FindAllString(texts[e.file], -1)); n != e.times {
			return "", fmt.Errorf("this version of Go (%s) has %q %d times in src/%s instead of %d: the lab does not know how to set its clock", version(goroot), e.place, n, e.file, e.times)
		}
		if e.by == edits()[0].by {
			hook, err := hooks.ReadFile("hooks/clock.go.txt")
			if err != nil {
				return "", err
			}
			texts["time/locklab.go"] = strings.ReplaceAll(string(hook), "RUNTIME_NOW", readsClock.FindStringSubmatch(texts[e.file])[1])
		}
		texts[e.file] = e.place.ReplaceAllString(texts[e.file], e.by)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for file, text := range texts {
		written := filepath.Join(dir, strings.ReplaceAll(file, "/", "_")+".txt")
		if err := os.WriteFile(written, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(goroot, "src", filepath.FromSlash(file))] = written
	}
	overlay, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "  ")
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, append(overlay, '\n'), 0o644)
}

// version is what the Go at a root says of itself.
func version(goroot string) string {
	text, err := os.ReadFile(filepath.Join(goroot, "VERSION"))
	if err != nil {
		return "of unknown version"
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return first
}
