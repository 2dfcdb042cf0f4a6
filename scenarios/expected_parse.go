package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/locklab/locklab/checker"
)

// ParseExpected reads a matrix. Errors name the file by path. The error is an Errors.
func ParseExpected(path string, src []byte) (*Matrix, error) {
	m, wrong := &Matrix{}, complaints{file: path}
	about := len(src) / 80 // bytes of a row
	m.rows, m.at = make([]row, 0, about), make(map[cellName]int, about)
	var above []string
	for _, l := range splitLines(src, &wrong) {
		if wrong.full {
			break
		}
		switch {
		case l.isComment():
			above = append(above, l.text)
			continue
		case l.text == "":
			if len(m.header) == 0 && len(m.rows) == 0 {
				m.header, above = above, nil
			}
			continue
		}
		cell, err := parseRow(l.text)
		if before := m.find(cell.scenario, cell.lock); err == nil && before >= 0 {
			err = fmt.Errorf("%s in %s is on line %d already", cell.lock, cell.scenario, m.rows[before].line)
		}
		if err != nil {
			wrong.add(l.number, "%s", err)
			continue
		}
		cell.line, cell.above, above = l.number, above, nil
		m.add(cell)
	}
	m.tail = above
	if err := wrong.err(); err != nil {
		return nil, err
	}
	return m, nil
}

// parseRow reads "scenario  lock  verdict".
func parseRow(text string) (row, error) {
	scenario, text := cutWord(text)
	lock, text := cutWord(text)
	if text == "" {
		return row{}, errors.New("a cell is 'scenario  lock  verdict', where the verdict is 'safe', anomalies, or 'n/a: why'")
	}
	verdict, err := parseVerdict(text)
	return row{scenario: scenario, lock: lock, verdict: verdict}, err
}

// cutWord cuts the first word off a text that begins with one, and the blanks behind it.
func cutWord(text string) (word, rest string) {
	end := strings.IndexFunc(text, unicode.IsSpace)
	if end < 0 {
		return text, ""
	}
	return text[:end], strings.TrimSpace(text[end:])
}

// parseVerdict reads what checker.Verdict.String writes, except unknown, which is no expectation.
func parseVerdict(text string) (checker.Verdict, error) {
	kind, reason, hasReason := strings.Cut(text, ":")
	reason = strings.Join(strings.Fields(reason), " ")
	switch checker.Kind(kind) {
	case checker.Safe:
		if hasReason {
			return checker.Verdict{}, errors.New("'safe' has no reason; put remarks into a comment above")
		}
		return checker.Verdict{Kind: checker.Safe}, nil
	case checker.NotApplicable:
		if reason == "" {
			return checker.Verdict{}, errors.New("'n/a' needs a reason, as in 'n/a: sends no GET while acquiring'")
		}
		return checker.Verdict{Kind: checker.NotApplicable, Reason: reason}, nil
	case checker.Undecided:
		return checker.Verdict{}, errors.New("'unknown' is no expectation; write what should be observed, or remove the line")
	}
	return parseAnomalies(text)
}

func parseAnomalies(text string) (checker.Verdict, error) {
	var named []checker.Name
	for word := range strings.SplitSeq(text, ",") {
		word = string(checker.Named(strings.TrimSpace(word)))
		if !slices.Contains(anomalies(), word) {
			return checker.Verdict{}, unknownWord("verdict or anomaly", word, append(slices.Clone(anomalies()), string(checker.Safe), string(checker.NotApplicable)))
		}
		if slices.Contains(named, checker.Name(word)) {
			return checker.Verdict{}, fmt.Errorf("anomaly %q is named twice", word)
		}
		named = append(named, checker.Name(word))
	}
	return broken(named), nil
}
