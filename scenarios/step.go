package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/spelling"
)

// Bounds of a step's arguments. Spans in leases and rates of clocks are numbers between least and most.
const (
	maxBreakpoints = 9
	least          = 0.001
	most           = 1000.0
)

func inBounds(number float64) bool { return number >= least && number <= most }

// step reads one line that is no header.
func (p *parser) step(l line) (Step, error) {
	says, want, hasWant := strings.Cut(l.text, "=>")
	r := &reader{words: fields(says)}
	step := Step{Line: l.number, Text: l.text}
	var err error
	switch first := r.peek(); {
	case first == "":
		return step, errors.New("nothing stands before '=>'")
	case first == "on":
		err = p.onWhichever(&step, r)
	case slices.Contains(labWords(), first):
		err = p.labVerb(&step, r)
	case p.isServer(first):
		err = p.serverVerb(&step, r)
	case len(p.script.Clients) == 0:
		return step, p.beforeClients(first)
	default:
		if err = p.client(&step, r); err == nil {
			err = p.clientVerb(&step, r)
		}
		if err == nil {
			err = cmp.Or(p.takeServers(&step, r), p.breakpointServers(&step))
		}
	}
	if err != nil {
		return step, err
	}
	if !r.done() {
		return step, leftOver(step, r)
	}
	if hasWant {
		step.Want, err = wanted(want)
	}
	return step, err
}

// errNoClients is the error of a step that needs the clients, where the header is missing or wrong.
var errNoClients = errors.New("no clients are known")

// beforeClients is the error of a step while no clients are known.
func (p *parser) beforeClients(first string) error {
	if meant := didYouMean(first, headers()); p.seen["clients"] == 0 && meant != "" {
		return fmt.Errorf("unknown word %q%s", first, meant)
	}
	return errNoClients
}

// client takes the client's name that a step begins with.
func (p *parser) client(step *Step, r *reader) error {
	name := r.next()
	if slices.Contains(p.script.Actors(), name) {
		step.Client = name
		return nil
	}
	known := slices.Concat(p.script.Actors(), headers(), labWords(), blockWords())
	meant := didYouMean(name, known)
	if _, isVerb := takePhrase(r, phrases()); isVerb || meant == "" {
		return unknownWord("client", name, p.script.Actors())
	}
	return fmt.Errorf("unknown word %q%s", name, meant)
}

// takePhrase takes the longest phrase that matches: "waits until lost" and not "waits".
func takePhrase(r *reader, all []phrase) (found phrase, ok bool) {
	for _, candidate := range all {
		if ahead := (&reader{words: r.words}); len(candidate.words) > len(found.words) && ahead.accept(candidate.words) {
			found = candidate
		}
	}
	return found, found.words != "" && r.accept(found.words)
}

func (p *parser) labVerb(s *Step, r *reader) error {
	found, ok := takePhrase(r, labPhrases())
	if !ok && takesSpan(r) {
		found, ok = phrase{verb: VerbWaitFor}, true
	}
	if !ok {
		return unknownWord("step", strings.Join(r.words, " "), spellings(labPhrases()))
	}
	s.Verb = found.verb
	return p.argument(s, r)
}

// takes is what a verb takes, beside what an operation does.
func (v Verb) takes() faults.Argument {
	if v == VerbWaitFor {
		return faults.TakesSpan
	}
	f, _ := faults.BegunBy(string(v))
	return f.Takes
}

// argument reads what follows a verb that is no operation's.
func (p *parser) argument(s *Step, r *reader) (err error) {
	switch s.Verb.takes() {
	case faults.TakesSpan:
		s.Span, err = takeSpan(r)
	case faults.TakesJump:
		return s.jump(r)
	case faults.TakesAge:
		return s.age(r)
	case faults.TakesReplica:
		return s.promotion(r)
	case faults.TakesClients:
		return p.without(s, r)
	case faults.TakesSetting:
		return s.clock(r)
	case faults.TakesDirection:
		s.Direction = takeDirection(r)
	}
	return err
}

// takesSpan takes the 'wait' of 'wait 2s', which is short for 'wait for 2s'.
func takesSpan(r *reader) bool {
	ahead := &reader{words: r.words}
	if !ahead.accept("wait") {
		return false
	}
	if _, err := takeSpan(ahead); err != nil {
		return false
	}
	return r.accept("wait")
}

// jump reads by how much a server's clock jumps.
func (s *Step) jump(r *reader) (err error) {
	back := r.accept("back")
	s.Span, err = takeSpan(r)
	if back {
		s.Span = s.Span.negative()
	}
	return err
}

// age reads how old the copy is at least with which a server restarts.
func (s *Step) age(r *reader) (err error) {
	if r.done() {
		return nil
	}
	if s.Span, err = takeSpan(r); err == nil && !r.accept("ago") {
		err = errors.New("write how old the copy is as in 'restarts as saved 1 lease ago'")
	}
	return err
}

// promotion reads which replica takes over.
func (s *Step) promotion(r *reader) error {
	s.HeldBack = r.accept(promoteHeldBack)
	if s.HeldBack || r.accept(promoteOther) {
		return nil
	}
	return unknownWord("replica", strings.Join(r.words, " "), promotions())
}

func (p *parser) clientVerb(s *Step, r *reader) error {
	if r.done() {
		return fmt.Errorf("%s does nothing; add a verb such as 'acquire'", s.Client)
	}
	found, ok := takePhrase(r, phrases())
	if !ok {
		return unknownVerb(r)
	}
	switch s.Verb, s.Op = found.verb, found.op; s.Verb {
	case VerbOp, VerbRenews:
		return s.options(r)
	case VerbContinue:
		s.Async = r.accept("in background")
		return nil
	}
	return p.argument(s, r)
}

// leftOver is the error of words after a complete step.
func leftOver(step Step, r *reader) error {
	rest := strings.Join(r.words, " ")
	if _, err := takeSpan(r); err == nil && step.Verb == VerbPause {
		return fmt.Errorf("'pause' takes no duration: %s stays paused until '%s resume'; put a step such as 'wait until expired' between them",
			step.Client, step.Client)
	}
	return fmt.Errorf("%q is not understood here", rest)
}

// unknownVerb is the error of the next word, or of the next two if they are near a verb of two words.
func unknownVerb(r *reader) error {
	if slices.Contains(labWords(), r.peek()) {
		return fmt.Errorf("'%s' is a step of the lab and not of a client; write it without the client's name", strings.Join(r.words, " "))
	}
	word := r.next()
	two := strings.TrimSpace(word + " " + r.peek())
	known := spellings(phrases())
	if meant := spelling.Nearest(two, known); strings.Contains(meant, " ") {
		return unknownWord("verb", two, known)
	}
	return unknownWord("verb", word, known)
}

func takeDirection(r *reader) faults.Direction {
	switch {
	case r.accept("requests"):
		return faults.Requests
	case r.accept("replies"):
		return faults.Replies
	}
	return faults.Both
}

// clock reads a client's clock setting. Each such step sets both its offset and its rate.
func (s *Step) clock(r *reader) (err error) {
	s.Rate = 1
	switch how := r.next(); how {
	case "right":
	case "ahead":
		s.Span, err = takeSpan(r)
	case "behind":
		s.Span, err = takeSpan(r)
		s.Span = s.Span.negative()
	case "rate":
		word := r.next()
		rate, bad := strconv.ParseFloat(word, 64)
		if bad != nil || !inBounds(rate) {
			return fmt.Errorf("%q is no rate; write a number from %g to %g, as in 'clock rate 1.5'", word, least, most)
		}
		s.Rate = rate
	case "":
		err = errors.New("the clock's setting is missing; write 'clock ahead 2s', 'clock behind 2s', 'clock rate 1.5' or 'clock right'")
	default:
		err = unknownWord("clock setting", how, clockSettings())
	}
	return err
}

// takeSpan reads "2s", "500ms", "3 leases" or "1 lease".
func takeSpan(r *reader) (Span, error) {
	word := r.next()
	if word == "" {
		return Span{}, errors.New("a duration is missing; write it as '2s' or '3 leases'")
	}
	if leases, err := strconv.ParseFloat(word, 64); err == nil && (r.accept("leases") || r.accept("lease")) {
		if !inBounds(leases) {
			return Span{}, fmt.Errorf("%s leases are out of bounds; write a number from %g to %g", word, least, most)
		}
		return Span{Leases: leases}, nil
	}
	fixed, err := time.ParseDuration(word)
	if err != nil {
		return Span{}, fmt.Errorf("%q is no duration; write it as '2s' or '3 leases'", strings.TrimSpace(word+" "+r.peek()))
	}
	if fixed <= 0 {
		return Span{}, fmt.Errorf("%s is out of bounds; a duration must be above 0", word)
	}
	return Span{Fixed: fixed}, nil
}

// options reads what may follow an operation, in any order.
func (s *Step) options(r *reader) error {
	for !r.done() {
		if err := s.option(r); err != nil {
			return err
		}
	}
	return nil
}

func (s *Step) option(r *reader) error {
	switch {
	case r.accept("within"):
		if s.Within != (Span{}) {
			return errors.New("'within' is given twice")
		}
		within, err := takeSpan(r)
		s.Within = within
		return err
	case r.accept("in background"):
		return s.flag(&s.Async, "in background")
	case r.accept("anyway"):
		return s.flag(&s.Anyway, "anyway")
	case r.accept("if unknown"):
		return s.flag(&s.IfUnknown, "if unknown")
	}
	at, err := takeBreakpoint(r)
	if err != nil {
		return err
	}
	if len(s.Breakpoints) == maxBreakpoints {
		return fmt.Errorf("more than %d breakpoints in one operation are too many", maxBreakpoints)
	}
	s.Breakpoints = append(s.Breakpoints, at)
	return nil
}

// flag sets an option without an argument.
func (s *Step) flag(option *bool, words string) error {
	if *option {
		return fmt.Errorf("'%s' is given twice", words)
	}
	*option = true
	return nil
}

// wanted reads the expected results.
func wanted(text string) ([]Result, error) {
	var want []Result
	for word := range strings.SplitSeq(text, "|") {
		word = strings.TrimSpace(word)
		if word == "" {
			return nil, errors.New("a result is missing after '=>'; write it as '=> ok' or '=> ok | no'")
		}
		if !slices.Contains(results(), word) {
			return nil, unknownWord("result", word, results())
		}
		if slices.Contains(want, Result(word)) {
			return nil, fmt.Errorf("result %q is named twice", word)
		}
		want = append(want, Result(word))
	}
	return want, nil
}

func results() []string {
	return stringsOf([]Result{ResultOK, ResultNo, ResultUnknown, ResultHeldUp, ResultDone, ResultExpired, ResultLive})
}
