package report

import (
	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/record"
)

// paint colours text, or leaves it alone if it is false.
type paint bool

func (p paint) with(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) bold(s string) string  { return p.with("1", s) }
func (p paint) dim(s string) string   { return p.with("2", s) }
func (p paint) alarm(s string) string { return p.with("1;37;41", s) }

// status colours s as befits the cell.
func (p paint) status(s string, c record.Cell) string {
	switch statusOf(c) {
	case statusSkipped:
		return p.dim(s)
	case statusUnknown:
		return p.with("1;35", s)
	case statusSurprise, statusFailed:
		return p.alarm(s)
	}
	if c.Verdict.Kind == checker.Broken {
		return p.with("33", s)
	}
	return p.with("32", s)
}

// mark is the sign of a status for those who see no colours.
func mark(s status) string {
	switch s {
	case statusSurprise:
		return "!!"
	case statusKnown:
		return " !"
	case statusFailed:
		return "XX"
	case statusUnknown:
		return "??"
	}
	return "  "
}
