package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/locklab/locklab/checker"
)

// Bounds of a script.
const (
	minLease   = 50 * time.Millisecond
	maxLease   = 10 * time.Minute
	maxClients = 16
	maxName    = 24 // bytes of a client's name
	maxSteps   = 500
)

// Parse reads a script. Errors name the file by path, whose base name without .lab is the scenario's name. The error is an Errors.
func Parse(path string, src []byte) (*Script, error) {
	p := &parser{
		script: &Script{Path: path, Name: nameOf(path)},
		wrong:  complaints{file: path},
		seen:   map[string]int{},
	}
	p.parse(splitLines(src, &p.wrong))
	if err := p.wrong.err(); err != nil {
		return nil, err
	}
	checkStory(p.script, &p.wrong)
	if err := p.wrong.err(); err != nil {
		return nil, err
	}
	return p.script, nil
}

// ParseFile reads the script at path. The error is an Errors, or says why the file could not be read.
func ParseFile(path string) (*Script, error) {
	src, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, src)
}

// ReadFile reads a script or a matrix. It rejects a file that is not regular, which may be endless, and reads of a long file only as much as
// the parsers need to reject it.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path) // before Open, which blocks on a pipe
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxSource+1))
}

type parser struct {
	script *Script
	wrong  complaints
	seen   map[string]int // header to its line
	first  int            // the line of the first step, or 0
	repeat *repeat        // the block that is open; nil: none is
	blocks int            // how many there were
}

func (p *parser) parse(lines []line) {
	lines = p.preface(lines)
	last := 1
	for _, l := range lines {
		l.text = withoutComment(l.text)
		if l.text == "" {
			continue
		}
		if p.wrong.full {
			return
		}
		last = l.number
		if err := p.line(l); err != nil {
			p.wrong.add(l.number, "%s", err)
		}
	}
	if p.repeat != nil {
		p.wrong.add(p.repeat.line, "this 'repeat' has no 'end'")
	}
	p.missing(cmp.Or(p.first, last))
}

// preface reads the comment at the top of the file: the title, and the text about the script.
func (p *parser) preface(lines []line) []line {
	for i, l := range lines {
		if l.text == "" && p.script.Title == "" {
			continue
		}
		if !l.isComment() {
			return lines[i:]
		}
		comment := strings.TrimPrefix(strings.TrimPrefix(l.text, "#"), " ")
		switch title := strings.TrimSpace(comment); {
		case p.script.Title == "":
			p.script.Title = title
		default:
			p.script.About = append(p.script.About, comment)
		}
	}
	return nil
}

// missing reports required headers and steps that are missing, on the line before which they should stand.
func (p *parser) missing(before int) {
	if p.seen["lease"] == 0 {
		p.wrong.add(before, "no lease is given; add a line such as 'lease 1s' before the first step")
	}
	if p.seen["clients"] == 0 {
		p.wrong.add(before, "no clients are given; add a line such as 'clients C1 C2' before the first step")
	}
	if err := p.otherKey(); err != nil && len(p.script.Clients) > 0 {
		p.wrong.add(p.seen["other-key"], "%s", err)
	} else if err := p.script.same(); err != nil {
		p.wrong.add(p.seen["clients"], "%s", err)
	}
	if len(p.script.Steps) == 0 && len(p.wrong.all) == 0 {
		p.wrong.add(before, "the script has no steps; add one such as 'C1 acquire => ok'")
	}
}

func (p *parser) line(l line) error {
	first := fields(l.text)
	if len(first) == 0 {
		return fmt.Errorf("a line of commas has no meaning")
	}
	if slices.Contains(headers(), first[0]) {
		return p.header(first[0], l)
	}
	if slices.Contains(blockWords(), first[0]) {
		return p.block(first, l.number)
	}
	if len(p.script.Steps) == maxSteps {
		return fmt.Errorf("more than %d steps are too many for one script", maxSteps)
	}
	step, err := p.step(l)
	if err != nil && !errors.Is(err, errNoClients) {
		return err
	}
	if p.first == 0 {
		p.first = l.number
	}
	if err != nil {
		return nil // the error of the header clients says it
	}
	if p.repeat != nil {
		step.block, step.round, step.rounds = p.blocks, 1, p.repeat.times
	}
	p.script.Steps = append(p.script.Steps, step)
	return nil
}

func (p *parser) header(name string, l line) error {
	if before := p.seen[name]; before > 0 {
		return fmt.Errorf("%q is given twice; it stands on line %d already", name, before)
	}
	p.seen[name] = l.number
	if p.first > 0 {
		return fmt.Errorf("%q must come before the first step, on line %d", name, p.first)
	}
	_, rest, _ := strings.Cut(l.text, name)
	rest = strings.TrimSpace(rest)
	words := fields(rest)
	if len(words) == 0 {
		return fmt.Errorf("%q needs a value after it", name)
	}
	switch name {
	case "source":
		p.script.Source = rest
		return nil
	case "lease":
		return p.lease(words)
	case "clients":
		return p.clients(words)
	case "workload":
		return p.workload(words)
	case "servers":
		return p.servers(words)
	case "expect":
		return p.expect(words)
	case "other-key":
		p.script.OtherKey = words
		return nil
	}
	return p.needs(words)
}

func (p *parser) lease(words []string) error {
	lease, err := time.ParseDuration(words[0])
	if err != nil || len(words) > 1 {
		return fmt.Errorf("%q is no lease; write it as '1s' or '500ms'", strings.Join(words, " "))
	}
	if lease < minLease || lease > maxLease {
		return fmt.Errorf("a lease of %s is out of bounds; it must be between %s and %s", span(lease), span(minLease), span(maxLease))
	}
	p.script.Lease = lease
	return nil
}

func checkName(name string) error {
	reserved := slices.Concat(headers(), labWords(), blockWords())
	if slices.Contains(reserved, name) {
		return fmt.Errorf("a client cannot be called %q, because scripts use that word; try C1", name)
	}
	if _, err := strconv.Atoi(name); err == nil {
		return fmt.Errorf("a client cannot be called %q; list the names of the clients, as in 'clients C1 C2'", name)
	}
	if !isName(name) {
		return fmt.Errorf("a client cannot be called %q; a name is a letter and at most %d more letters, digits, - or _", name, maxName-1)
	}
	return nil
}

func isName(name string) bool {
	strange := func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_'
	}
	return name != "" && len(name) <= maxName && !strings.ContainsFunc(name, strange) && unicode.IsLetter(rune(name[0]))
}

// expect reads the expectation: "getset overwrite, early-grant".
func (p *parser) expect(words []string) error {
	if len(words) == 1 {
		return fmt.Errorf("what is expected of %s? Write it as 'expect %s double-holder'", words[0], words[0])
	}
	p.script.Expect.Lock = words[0]
	for i, word := range words[1:] {
		word = string(checker.Named(word))
		if !slices.Contains(anomalies(), word) {
			return unknownWord("anomaly", word, anomalies())
		}
		if slices.Contains(words[1:i+1], word) {
			return fmt.Errorf("anomaly %q is named twice", word)
		}
		p.script.Expect.Anomalies = append(p.script.Expect.Anomalies, checker.Name(word))
	}
	return nil
}

var anomalies = sync.OnceValue(func() []string {
	var names []string
	for _, d := range checker.Definitions() {
		names = append(names, string(d.Name))
	}
	return names
})

func (p *parser) needs(words []string) error {
	for i, word := range words {
		if !slices.Contains(needs(), word) {
			return unknownWord("need", word, needs())
		}
		if slices.Contains(words[:i], word) {
			return fmt.Errorf("need %q is named twice", word)
		}
		p.script.Needs = append(p.script.Needs, Need(word))
	}
	if slices.Contains(p.script.Needs, NeedsResend) && slices.Contains(p.script.Needs, NeedsNoResend) {
		return fmt.Errorf("'resend' and 'no-resend' exclude each other; keep one")
	}
	return nil
}
