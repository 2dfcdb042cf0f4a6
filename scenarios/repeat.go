package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxRounds bounds how often steps are repeated. All rounds together are steps of the script, of which there are at most maxSteps.
const maxRounds = 100

// repeat is a block of steps that is being read.
type repeat struct {
	line  int
	times int
	from  int // the first of its steps
}

// block reads 'repeat 3' or 'end'.
func (p *parser) block(words []string, line int) error {
	if words[0] == "end" {
		return p.endRepeat(words)
	}
	if p.repeat != nil {
		return fmt.Errorf("a 'repeat' within that of line %d; write the steps out, or end that one first", p.repeat.line)
	}
	p.repeat = &repeat{line: line, times: 1, from: len(p.script.Steps)}
	p.blocks++
	if p.first == 0 {
		p.first = line
	}
	if len(words) != 2 {
		return errors.New("say how often, as in 'repeat 3'")
	}
	times, err := strconv.Atoi(words[1])
	if err != nil {
		return fmt.Errorf("%q is no number; say how often, as in 'repeat 3'", words[1])
	}
	if times < 2 || times > maxRounds {
		return fmt.Errorf("steps can be repeated 2 to %d times, not %d", maxRounds, times)
	}
	p.repeat.times = times
	return nil
}

// endRepeat ends a block, and adds its further rounds.
func (p *parser) endRepeat(words []string) error {
	open := p.repeat
	switch {
	case open == nil:
		return errors.New("no 'repeat' is open here")
	case len(words) > 1:
		return fmt.Errorf("%q is not understood after 'end'", strings.Join(words[1:], " "))
	}
	p.repeat = nil
	steps := slices.Clone(p.script.Steps[open.from:])
	switch {
	case len(steps) == 0:
		return fmt.Errorf("no step stands between here and 'repeat' on line %d", open.line)
	case open.from+len(steps)*open.times > maxSteps:
		return fmt.Errorf("%d rounds of %d steps are more than the %d steps that a script may have", open.times, len(steps), maxSteps)
	}
	for round := 2; round <= open.times; round++ {
		for _, step := range steps {
			step.round = round
			p.script.Steps = append(p.script.Steps, step)
		}
	}
	return nil
}

// repeated is how many steps from the ith on one 'repeat' stands for, and how many it has in each round; ok is false if that step begins none,
// or one of which a part has been changed or taken away since.
func (s *Script) repeated(i int) (all, each int, ok bool) {
	first := s.Steps[i]
	if first.rounds < 2 || i > 0 && s.Steps[i-1].block == first.block {
		return 0, 0, false
	}
	for i+all < len(s.Steps) && s.Steps[i+all].block == first.block {
		if s.Steps[i+all].round == 1 {
			each++
		}
		all++
	}
	if all != each*first.rounds {
		return 0, 0, false
	}
	for k := range all {
		step, model := s.Steps[i+k], s.Steps[i+k%each]
		if step.round != k/each+1 || step.Subject() != model.Subject() || step.says() != model.says() {
			return 0, 0, false
		}
	}
	return all, each, true
}

// inRound says in which round an error is that the first one does not have.
func (s Step) inRound() string {
	if s.round < 2 {
		return ""
	}
	return fmt.Sprintf(" (in round %d of the repeat)", s.round)
}
