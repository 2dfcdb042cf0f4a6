// Package story says in sentences what a history shows: what went wrong, what caused it, and what was lost by it.
//
// It owns the words of a finding, and which anomaly follows from which; it computes both from the history. It judges nothing: the anomalies are the
// checker's. It must not know a screen, a script or a lock's code.
package story

import (
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
)

// Story is what a cell's history shows.
type Story struct {
	// Finding is one sentence: the cause, what came of it, and what was lost. Of a cell that is not broken, it is the verdict.
	Finding string
	// Symptoms are the verdict's anomalies, in their order.
	Symptoms []Symptom
	// Breaks is the promise that was broken, in the word of the client protocol; empty where the lock is not judged by promises.
	Breaks string
}

// Symptom is an anomaly and its place among the others.
type Symptom struct {
	Anomaly checker.Anomaly
	// Follows is the index of the symptom that this one follows from; negative: it follows from none.
	Follows int
}

// Of tells the story of a verdict and its history.
func Of(verdict checker.Verdict, events []history.Event) *Story {
	return About(verdict, func() *timeline.Timeline { return timeline.Of(events) })
}

// About is Of for who has the timeline of the history, or can do without one if the verdict needs none.
func About(verdict checker.Verdict, all func() *timeline.Timeline) *Story {
	s := &Story{Finding: verdict.String()}
	if verdict.Kind != checker.Broken {
		return s
	}
	s.Symptoms = chain(verdict.Anomalies)
	for _, a := range verdict.Anomalies {
		if a.Breaks != "" {
			s.Breaks = a.Breaks
			break
		}
	}
	t := &teller{Timeline: all(), symptoms: s.Symptoms}
	s.Finding = t.finding()
	return s
}

// teller writes the sentences.
type teller struct {
	*timeline.Timeline
	symptoms []Symptom
}

// finding is the sentence.
func (t *teller) finding() string {
	var clauses []string
	told := make([]bool, len(t.symptoms))
	for i, s := range t.symptoms {
		if told[i] || !begins(t.symptoms, i) {
			continue
		}
		if len(clauses) == mostClauses {
			break
		}
		told[i] = true
		clause := t.cause(s.Anomaly)
		if n := t.consequence(i, told); n >= 0 {
			told[n] = true
			clause += t.so(s.Anomaly, t.symptoms[n].Anomaly)
		}
		if clause != "" && !slices.Contains(clauses, clause) {
			clauses = append(clauses, clause)
		}
	}
	if lost := t.loss(); lost != "" {
		clauses = append(clauses, lost)
	}
	return sentence(strings.Join(clauses, "; "))
}

// mostClauses is how many causes one sentence can bear.
const mostClauses = 2

// begins says whether a symptom begins a clause: it follows from none, or is a command's doing, which no other symptom explains.
func begins(symptoms []Symptom, i int) bool {
	return symptoms[i].Follows < 0 || slices.Contains([]checker.Name{checker.WrongfulDelete, checker.Overwrite, checker.WrongfulRenew}, symptoms[i].Anomaly.Name)
}

// consequence is the symptom that tells best what a cause came to, of those that no other clause explains; negative: there is none.
func (t *teller) consequence(cause int, told []bool) int {
	for _, name := range []checker.Name{checker.DoubleHolder, checker.EarlyGrant, checker.StuckLock, checker.Unreleasable, checker.StaleWrite, checker.FalseAlarm} {
		for n, s := range t.symptoms {
			if s.Anomaly.Name == name && !told[n] && !begins(t.symptoms, n) && clauseOf(t.symptoms, n) == cause {
				return n
			}
		}
	}
	return -1
}

// clauseOf is the nearest symptom that begins a clause, of those that one follows from.
func clauseOf(symptoms []Symptom, n int) int {
	for n = symptoms[n].Follows; !begins(symptoms, n); n = symptoms[n].Follows {
	}
	return n
}

// loss is what the user's data lost, as the last to say so says it.
func (t *teller) loss() string {
	for i := len(t.symptoms) - 1; i >= 0; i-- {
		if a := t.symptoms[i].Anomaly; a.Name == checker.LostUpdate {
			why := strings.TrimSuffix(strings.TrimSpace(a.Why), ".")
			return lower(why[lastSentence(why):])
		}
	}
	return ""
}

// lastSentence is where the last sentence of a text begins.
func lastSentence(text string) int {
	if i := strings.LastIndex(text, ". "); i >= 0 {
		return i + len(". ")
	}
	return 0
}

// sentence makes text one.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// lower has a sentence go on another, unless it begins with a client's name.
func lower(text string) string {
	if len(text) > 1 && text[0] == 'C' && text[1] >= '0' && text[1] <= '9' {
		return text
	}
	return strings.ToLower(text[:min(1, len(text))]) + text[min(1, len(text)):]
}
