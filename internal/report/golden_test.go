package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/page"
	"github.com/locklab/locklab/internal/report/reporttest"
	"github.com/locklab/locklab/internal/report/screen"
	"github.com/locklab/locklab/internal/report/terminal"
)

// TestGoldenScreensFit: what people read in a terminal has at most 80 columns, unless the terminal is known to be wider.
func TestGoldenScreensFit(t *testing.T) {
	elsewhere := []string{"annotations", "html", "json", "junit", "summary"} // read by programs, or by a browser
	paths, err := filepath.Glob(filepath.Join("testdata", "*.golden"))
	require.NoError(t, err)
	others, err := filepath.Glob(filepath.Join("*", "testdata", "*.golden"))
	require.NoError(t, err)
	colour := regexp.MustCompile("\x1b\\[[0-9;]*m")
	seen := 0
	for _, path := range slices.Concat(paths, others) {
		name := strings.TrimSuffix(filepath.Base(path), ".golden")
		if slices.Contains(elsewhere, name) || strings.HasSuffix(name, "-html") {
			continue
		}
		seen++
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for line := range strings.Lines(colour.ReplaceAllString(string(text), "")) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), format.UsualWidth, "%s:\n%s", path, line)
		}
	}
	require.Greater(t, seen, 15)
}

func TestRunGoldens(t *testing.T) {
	renderers := map[string]func(io.Writer, *record.Run) error{
		"html":        pageText,
		"junit":       report.JUnit,
		"summary":     report.Summary,
		"annotations": report.Annotations,
		"json":        func(w io.Writer, run *record.Run) error { return reporttest.Feed(report.NewJSON(w), run) },
		"terminal": func(w io.Writer, run *record.Run) error {
			return reporttest.Feed(screen.New(w, io.Discard, terminal.Options{Since: reporttest.Ticking()}), run)
		},
		"terminal-80-verbose": func(w io.Writer, run *record.Run) error {
			return reporttest.Feed(screen.New(w, io.Discard, terminal.Options{Width: 80, Verbose: true, Prefix: "go run ./cmd/lab", Since: reporttest.Ticking()}), run)
		},
		"terminal-color": func(w io.Writer, run *record.Run) error {
			return reporttest.Feed(screen.New(w, io.Discard, terminal.Options{Color: true, Since: reporttest.Ticking()}), run)
		},
		"terminal-interrupted": func(w io.Writer, run *record.Run) error {
			run.Finished = false
			run.Cells = run.Cells[:5]
			return reporttest.Feed(screen.New(w, io.Discard, terminal.Options{Since: reporttest.Ticking()}), run)
		},
	}
	for name, render := range renderers {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, render(&b, reporttest.SampleRun()))
			reporttest.Golden(t, name, b.Bytes())
		})
	}
}

// pageText is a page without what is the same in all: its markup up to the data, then the data.
func pageText(w io.Writer, run *record.Run) error {
	var b bytes.Buffer
	if err := page.HTML(&b, run, reporttest.ReadBy(reporttest.SampleHistory), page.Beside{}); err != nil {
		return err
	}
	text := b.String()
	_, body, _ := strings.Cut(text, "<body>")
	body, _, _ = strings.Cut(body, `<script type="text/plain"`)
	out := []string{body}
	for _, id := range []string{"index", "cells-0", "cells-1", "cells-2", "cells-3"} {
		var data any
		if err := json.Unmarshal([]byte(reporttest.InPage(panicking{}, text, id)), &data); err != nil {
			return err
		}
		lines, err := json.MarshalIndent(data, "", " ")
		if err != nil {
			return err
		}
		out = append(out, id, string(lines))
	}
	_, err := io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}

// panicking ends what has no test at hand.
type panicking struct{}

func (panicking) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (panicking) FailNow() { panic("failed") }
