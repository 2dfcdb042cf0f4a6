package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/report/outcome"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Timestamp  string          `xml:"timestamp,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`

	took time.Duration
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Time    string       `xml:"time,attr"`
	Skipped *junitSkip   `xml:"skipped"`
	Error   *junitResult `xml:"error"`
	Failure *junitResult `xml:"failure"`
	Out     string       `xml:"system-out,omitempty"`
}

type junitSkip struct {
	Message string `xml:"message,attr"`
}

type junitResult struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes the run as JUnit XML: a suite per scenario, a case per lock and round. A surprise that is news is a failure, unknown and a
// failure of the lab are errors, n/a as expected is skipped. Anomalies that were expected go to system-out.
func JUnit(w io.Writer, run *record.Run) error {
	doc := junitSuites{Name: "locklab"}
	m := outcome.NewMatrix(run.Cells)
	var took time.Duration
	for _, scenario := range m.Scenarios {
		suite := junitSuiteOf(run, m, scenario)
		doc.Tests += suite.Tests
		doc.Failures += suite.Failures
		doc.Errors += suite.Errors
		doc.Skipped += suite.Skipped
		took += suite.took
		doc.Suites = append(doc.Suites, suite)
	}
	doc.Time = seconds(took)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(doc); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func junitSuiteOf(run *record.Run, m outcome.Matrix, scenario string) junitSuite {
	suite := junitSuite{Name: format.Clean(scenario), Timestamp: run.Started.UTC().Format("2006-01-02T15:04:05")}
	for _, f := range outcome.Facts(run) {
		suite.Properties = append(suite.Properties, junitProperty{f.Name, f.Value})
	}
	suite.Properties = append(suite.Properties, junitProperty{"finished", fmt.Sprint(run.Finished)})
	for _, lock := range m.Locks {
		g := m.At(lock, scenario)
		for _, c := range g {
			suite.took += c.Took
			suite.add(c, len(g))
		}
	}
	suite.Time = seconds(suite.took)
	return suite
}

func (s *junitSuite) add(c record.Cell, rounds int) {
	test := junitCase{Class: format.Clean(c.Scenario), Name: format.Clean(c.Lock), Time: seconds(c.Took)}
	if rounds > 1 {
		test.Name = fmt.Sprintf("%s round %d", test.Name, c.Round)
	}
	s.Tests++
	reasons := reasonsOf(c)
	result := &junitResult{Type: strings.ToLower(outcome.StatusOf(c).String()), Message: outcome.Of(c), Text: reasons}
	switch outcome.StatusOf(c) {
	case outcome.Surprise:
		s.Failures++
		test.Failure = result
	case outcome.Unknown, outcome.Failed:
		s.Errors++
		test.Error = result
	case outcome.Skipped:
		s.Skipped++
		test.Skipped = &junitSkip{Message: outcome.Of(c)}
	default:
		test.Out = reasons
	}
	s.Cases = append(s.Cases, test)
}

// reasonsOf lists the anomalies of a cell, one a line.
func reasonsOf(c record.Cell) string {
	var b strings.Builder
	if c.Finding != "" {
		fmt.Fprintf(&b, "%s\n", format.Clean(c.Finding))
	}
	for i, a := range c.Verdict.Anomalies {
		if i == outcome.MaxListed {
			fmt.Fprintf(&b, "and %s\n", format.Plural(len(c.Verdict.Anomalies)-i, "more anomaly", "more anomalies"))
			break
		}
		fmt.Fprintf(&b, "%s at %s: %s\n", format.Clean(string(a.Name)), format.Seconds(a.At), format.Clean(outcome.Reason(a)))
	}
	return b.String()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
