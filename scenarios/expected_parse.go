package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
)

// ParseExpected reads a matrix. Errors name the file by path. The error is an Errors.
func ParseExpected(path string, src []byte) (*Matrix, error) {
	m, wrong := &Matrix{}, complaints{file: path}
	lines := map[[2]string]int{}
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
		key := [2]string{cell.scenario, cell.lock}
		if before := lines[key]; err == nil && before > 0 {
			err = fmt.Errorf("%s in %s is on line %d already", cell.lock, cell.scenario, before)
		}
		if err != nil {
			wrong.add(l.number, "%s", err)
			continue
		}
		lines[key] = l.number
		cell.above, above = above, nil
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
	words := strings.Fields(text)
	if len(words) < 3 {
		return row{}, errors.New("a cell is 'scenario  lock  verdict', where the verdict is 'safe', anomalies, or 'n/a: why'")
	}
	verdict, err := parseVerdict(strings.Join(words[2:], " "))
	return row{scenario: words[0], lock: words[1], verdict: verdict}, err
}

// parseVerdict reads what checker.Verdict.String writes, except unknown, which is no expectation.
func parseVerdict(text string) (checker.Verdict, error) {
	kind, reason, hasReason := strings.Cut(text, ":")
	reason = strings.TrimSpace(reason)
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
	known := anomalies()
	var named []checker.Name
	for word := range strings.SplitSeq(text, ",") {
		word = string(checker.Named(strings.TrimSpace(word)))
		if !slices.Contains(known, word) {
			return checker.Verdict{}, unknownWord("verdict or anomaly", word, append(known, string(checker.Safe), string(checker.NotApplicable)))
		}
		if slices.Contains(named, checker.Name(word)) {
			return checker.Verdict{}, fmt.Errorf("anomaly %q is named twice", word)
		}
		named = append(named, checker.Name(word))
	}
	return broken(named), nil
}
