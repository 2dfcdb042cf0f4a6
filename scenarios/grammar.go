package scenarios

import (
	"slices"

	"github.com/locklab/locklab/faults"
)

// Form is a place in the grammar with the words that it accepts, from the parser's tables.
type Form struct {
	Name  string
	Words []string
}

// Grammar lists the forms of the language, for its reference.
func Grammar() []Form {
	return []Form{
		{"header", headers()},
		{"need", needs()},
		{"workload", WorkloadNames()},
		{"client verb", spellings(phrases())},
		{"lab verb", spellings(labPhrases())},
		{"server verb", spellings(serverPhrases())},
		{"server", []string{"on " + Whichever}},
		{"block", blockWords()},
		{"replica", promotions()},
		{"clock setting", clockSettings()},
		{"direction", []string{faults.Requests.String(), faults.Replies.String()}},
		{"option", options()},
		{"breakpoint", breakpointActions()},
		{"request", append(matches(), "a command in capitals")},
		{"count", faults.Ordinals()},
		{"result", results()},
	}
}

func clockSettings() []string { return []string{"ahead", "behind", "rate", "right"} }

func breakpointActions() []string {
	var words []string
	for _, action := range faults.Actions() {
		words = append(words, action.Words())
	}
	return words
}

// options may follow an operation, beside breakpoints.
func options() []string { return []string{"within", "in background", "anyway", "if unknown"} }

// Uses lists the words of the grammar that a script uses, by the name of their form.
func (s *Script) Uses() map[string][]string {
	used := map[string][]string{}
	add := func(form, word string) {
		if word != "" && !slices.Contains(used[form], word) {
			used[form] = append(used[form], word)
		}
	}
	for _, h := range s.headerLines() {
		if h[1] != "" {
			add("header", h[0])
		}
	}
	for _, need := range s.Needs {
		add("need", string(need))
	}
	add("workload", string(s.Workload))
	for _, step := range s.Steps {
		step.uses(add)
	}
	return used
}

func (s Step) uses(add func(form, word string)) {
	switch {
	case s.Client != "":
		add("client verb", s.verbWords())
	case len(s.Servers) > 0:
		add("server verb", string(s.Verb))
	default:
		add("lab verb", s.verbWords())
	}
	if s.OnWhichever() {
		add("server", "on "+Whichever)
	}
	if s.round > 0 {
		add("block", "repeat")
		add("block", "end")
	}
	if s.Verb == VerbTakeOver {
		add("replica", s.replicaWords())
	}
	if s.Verb == VerbClock {
		for _, setting := range clockSettings() {
			if r := (&reader{words: fields(s.clockWords())}); r.accept(setting) {
				add("clock setting", setting)
			}
		}
	}
	if s.Direction != faults.Both {
		add("direction", s.Direction.String())
	}
	if s.Anyway {
		add("option", "anyway")
	}
	if s.IfUnknown {
		add("option", "if unknown")
	}
	if s.Within != (Span{}) {
		add("option", "within")
	}
	if s.Async {
		add("option", "in background")
	}
	for _, b := range s.Breakpoints {
		add("breakpoint", b.Action.Words())
		add("count", faults.Ordinals()[b.Nth-1])
		if b.Match.Kind == faults.MatchCommand {
			add("request", "a command in capitals")
		} else {
			add("request", b.Match.String())
		}
	}
	for _, want := range s.Want {
		add("result", string(want))
	}
}
