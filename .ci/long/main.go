// Command long passes on what go test -json says, shortly, and lists the tests that left something out because it takes long:
//
//	go test -json ./... | go run ./.ci/long LIST
//
// LIST gets a line for each package, "PACKAGE PATTERN", for go test -run. So the full run need not repeat what the quick run has done.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "long:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return errors.New("give the file for the list; go test -json on standard input")
	}
	tests := report{output: map[test][]string{}, long: map[string][]string{}}
	if err := tests.read(os.Stdin, os.Stdout); err != nil {
		return err
	}
	var list strings.Builder
	for _, pkg := range tests.packages {
		fmt.Fprintln(&list, pkg, pattern(tests.long[pkg]))
	}
	if err := os.WriteFile(os.Args[1], []byte(list.String()), 0o600); err != nil {
		return err
	}
	if tests.failed {
		return errors.New("tests failed")
	}
	return nil
}

// event is a line of go test -json, or of the builds before it.
type event struct {
	Action, Package, Test, Output, ImportPath string
}

type test struct{ pkg, name string }

type report struct {
	output   map[test][]string // of what has not passed yet
	packages []string          // with tests that left something out
	long     map[string][]string
	failed   bool
}

func (r *report) read(from io.Reader, to io.Writer) error {
	lines := json.NewDecoder(bufio.NewReader(from))
	for {
		var e event
		switch err := lines.Decode(&e); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		r.take(e, to)
	}
}

func (r *report) take(e event, to io.Writer) {
	from := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(to, e.Output)
	case "build-fail":
		r.failed = true
	case "output":
		r.said(from, e.Output)
	case "pass", "skip":
		if e.Test == "" {
			r.print(from, to)
		}
		delete(r.output, from)
	case "fail":
		r.failed = true
		r.print(from, to)
	}
}

var leftOut = regexp.MustCompile(`^\s+\S+\.go:\d+: long: `)

func (r *report) said(from test, line string) {
	r.output[from] = append(r.output[from], line)
	if from.name == "" || !leftOut.MatchString(line) {
		return
	}
	if r.long[from.pkg] == nil {
		r.packages = append(r.packages, from.pkg)
	}
	r.long[from.pkg] = append(r.long[from.pkg], from.name)
}

func (r *report) print(from test, to io.Writer) {
	for _, line := range r.output[from] {
		if from.name == "" && (line == "PASS\n" || strings.HasPrefix(line, "?")) {
			continue
		}
		fmt.Fprint(to, line)
	}
	delete(r.output, from)
}

// pattern matches the tests, with whatever is below them, and nothing else.
func pattern(names []string) string {
	slices.Sort(names)
	var parts []string
	for _, name := range slices.Compact(names) {
		steps := strings.Split(name, "/")
		for i, step := range steps {
			steps[i] = "^" + regexp.QuoteMeta(step) + "$"
		}
		parts = append(parts, strings.Join(steps, "/"))
	}
	return strings.Join(parts, "|")
}
