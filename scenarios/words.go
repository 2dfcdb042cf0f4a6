package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// phrase is the spelling of a verb.
type phrase struct {
	words string
	verb  Verb
	op    history.Op
}

// phrases lists the verbs of a client.
var phrases = sync.OnceValue(func() (all []phrase) {
	for _, op := range []history.Op{history.OpAcquire, history.OpRelease, history.OpRenew, history.OpCheck, history.OpWork} {
		all = append(all, phrase{words: op.String(), op: op})
	}
	for _, verb := range []Verb{VerbAwait, VerbContinue, VerbArrives, VerbTimesOut, VerbGiveUp, VerbRenews, VerbTakesIn, VerbWaits, VerbWaitsLost} {
		all = append(all, phrase{words: string(verb), verb: verb})
	}
	for _, f := range faults.All() {
		switch f.Target {
		case faults.OnProcess, faults.OnClient, faults.OnLink, faults.OnClock:
			all = addVerbs(all, f, bare)
		}
	}
	return all
})

// labPhrases lists the verbs of the lab: waits, and what happens to all servers.
var labPhrases = sync.OnceValue(func() (all []phrase) {
	for _, verb := range []Verb{VerbWaitFor, VerbWaitExpired, VerbWaitHalf, VerbWaitFreed, VerbWaitRenewed} {
		all = append(all, phrase{words: string(verb), verb: verb})
	}
	for _, f := range faults.All() {
		if f.Target == faults.OnServer && f.Place != faults.OneServer {
			all = addVerbs(all, f, labSpelling)
		}
	}
	return all
})

// serverPhrases lists the verbs of one of several servers.
var serverPhrases = sync.OnceValue(func() (all []phrase) {
	for _, f := range faults.All() {
		if f.Target == faults.OnServer && f.Place != faults.AllServers {
			all = addVerbs(all, f, bare)
		}
	}
	return all
})

func bare(verb Verb) string { return string(verb) }

// labSpelling is a verb of the lab as scripts write it: one that does not say so itself is about all servers.
func labSpelling(verb Verb) string {
	if first, _, _ := strings.Cut(string(verb), " "); slices.Contains(labWords(), first) {
		return string(verb)
	}
	return "server " + string(verb)
}

// addVerbs adds the verbs of a fault.
func addVerbs(all []phrase, f faults.Fault, spelling func(Verb) string) []phrase {
	for _, words := range slices.Concat(f.Also, []string{f.Begins, f.Ends}) {
		known := slices.ContainsFunc(all, func(p phrase) bool { return p.verb == Verb(words) })
		settings := f.Begins != "" && strings.HasPrefix(words, f.Begins+" ") // "clock right"
		if words == "" || known || settings {
			continue
		}
		all = append(all, phrase{words: spelling(Verb(words)), verb: Verb(words)})
	}
	return all
}

// labWords are the first words of labPhrases, and that of a verb of whichever server.
func labWords() []string { return []string{"wait", "server", "operator", "on"} }

// blockWords begin and end steps that are repeated.
func blockWords() []string { return []string{"repeat", "end"} }

func spellings(all []phrase) []string {
	words := make([]string, len(all))
	for i, p := range all {
		words[i] = p.words
	}
	return words
}

// promotions say which replica takes over.
func promotions() []string { return []string{promoteHeldBack, promoteOther} }

const (
	promoteHeldBack = "the one held back"
	promoteOther    = "the other one"
)

func headers() []string {
	return []string{"source", "workload", "lease", "clients", "other-key", "servers", "needs", "expect"}
}

func needs() []string {
	all := []Need{
		NeedsService, NeedsLease, NeedsResend, NeedsNoResend, NeedsRenewal, NeedsCheck, NeedsRenew, NeedsReentrance, NeedsFairness, NeedsMajority, NeedsAsynchrony, NeedsZooKeeper,
		NeedsEnsemble,
	}
	return stringsOf(all)
}

func stringsOf[T ~string](all []T) []string {
	words := make([]string, len(all))
	for i, one := range all {
		words[i] = string(one)
	}
	return words
}

// unknownWord is the error of an unknown word.
func unknownWord(kind, word string, known []string) error {
	if meant := didYouMean(word, known); meant != "" {
		return fmt.Errorf("unknown %s %q%s", kind, word, meant)
	}
	return fmt.Errorf("unknown %s %q; known are %s", kind, word, strings.Join(known, ", "))
}
