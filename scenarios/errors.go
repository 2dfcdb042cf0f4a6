package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// ParseError is one error in a script or matrix, with its line.
type ParseError struct {
	File string
	Line int // from 1
	What string
}

func (e ParseError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.What) }

// Errors are the errors of one file, in the order of its lines. It is never empty.
type Errors []ParseError

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find a single ParseError.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// maxErrors bounds the errors that are reported for one file.
const maxErrors = 20

// complaints collects the errors of one file.
type complaints struct {
	file string
	all  Errors
	full bool // there are more errors, which are not reported
}

func (c *complaints) add(line int, format string, args ...any) {
	if c.full {
		return
	}
	if c.full = len(c.all) == maxErrors; c.full {
		format, args = "there are more errors below; put these right first", nil
	}
	c.all = append(c.all, ParseError{File: c.file, Line: line, What: fmt.Sprintf(format, args...)})
}

// err is nil if there are no errors.
func (c *complaints) err() error {
	if len(c.all) == 0 {
		return nil
	}
	slices.SortStableFunc(c.all, func(a, b ParseError) int { return cmp.Compare(a.Line, b.Line) })
	return c.all
}
