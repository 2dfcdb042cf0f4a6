// Package playground is what the playground's page asks for: steps of a lock in the model, the shortest break, and scripts, each with its verdict.
//
// It owns the questions and answers, which are JSON. It is the same in a page and in a test. It must not know a page, or how it comes into one.
package playground

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/reasons"
	"github.com/locklab/locklab/internal/report/web/encode"
	"github.com/locklab/locklab/internal/sim/points"
	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/internal/story"
	"github.com/locklab/locklab/internal/timeline"
	"github.com/locklab/locklab/scenarios"
)

// Setup is which lock is walked through, and within which bounds.
type Setup struct {
	Lock    string `json:"lock"`
	Clients int    `json:"clients"`
	Rounds  int    `json:"rounds"`
	// Faults are the kinds that may strike, and Most is how many may together.
	Faults []faults.Kind `json:"faults"`
	Most   int           `json:"most"`
}

// Question is what a page asks. Do names it: catalogue, walk, beside, search or play.
type Question struct {
	Do      string   `json:"do"`
	Setup   Setup    `json:"setup"`
	Choices []string `json:"choices,omitempty"`
	// Other is the lock that takes the same steps, for beside.
	Other string `json:"other,omitempty"`
	// Lock and Script are those to be played.
	Lock   string `json:"lock,omitempty"`
	Script string `json:"script,omitempty"`
}

// Lab answers questions. It is used by one goroutine.
type Lab struct {
	walks map[string]*search.Walk // the walk of each setup
	// Progress is told how far a search has come; it may be nil.
	Progress func(search.Progress)
}

// New is a lab.
func New() *Lab { return &Lab{walks: map[string]*search.Walk{}} }

// Ask answers a question, both in JSON. An error is {"error": …}, with the line of a script if it is about one.
func (l *Lab) Ask(ctx context.Context, question []byte) []byte {
	var q Question
	answer, err := any(nil), json.Unmarshal(question, &q)
	if err == nil {
		answer, err = l.answer(ctx, q)
	}
	if err != nil {
		answer = failureOf(err)
	}
	text, err := json.Marshal(answer)
	if err != nil { // no answer has anything that JSON has not
		panic(err)
	}
	return text
}

func (l *Lab) answer(ctx context.Context, q Question) (any, error) {
	switch q.Do {
	case "catalogue":
		return newCatalogue(), nil
	case "walk":
		return l.Walk(q.Setup, q.Choices)
	case "beside":
		return l.Beside(q.Setup, q.Choices, q.Other)
	case "search":
		return l.Search(ctx, q.Setup)
	case "play":
		return Play(ctx, q.Lock, q.Script)
	}
	return nil, fmt.Errorf("the playground knows no %q", q.Do)
}

// failure is what went wrong.
type failure struct {
	Error string `json:"error"`
	Wrong []line `json:"wrong,omitempty"`
}

// line is a line of a script and what is wrong with it.
type line struct {
	Line int    `json:"line"`
	What string `json:"what"`
}

func failureOf(err error) failure {
	f := failure{Error: err.Error()}
	var all scenarios.Errors
	if errors.As(err, &all) {
		f.Error = ""
		for _, e := range all {
			f.Wrong = append(f.Wrong, line{e.Line, e.What})
		}
	}
	return f
}

// find finds a lock.
func find(name string) (impls.Spec, error) {
	lock, known := impls.Find(name)
	if !known {
		return lock, fmt.Errorf("there is no lock %q", name)
	}
	return lock, nil
}

// catalogue is all that can be picked.
type catalogue struct {
	Locks     []lockCard     `json:"locks"`
	Faults    []faultCard    `json:"faults"`
	Scenarios []scenarioCard `json:"scenarios"`
	Anomalies []anomalyCard  `json:"anomalies"`
}

type lockCard struct {
	Name    string        `json:"name"`
	Idea    string        `json:"idea"`
	Bug     string        `json:"bug,omitempty"`
	Source  string        `json:"source"`
	File    string        `json:"file"`   // that has its code
	Line    int           `json:"line"`   // at which that begins
	Walked  bool          `json:"walked"` // it can be walked through step by step
	Clients int           `json:"clients"`
	Faults  []faults.Kind `json:"faults,omitempty"`
}

type faultCard struct {
	Kind faults.Kind `json:"kind"`
	Does string      `json:"does"`
	Why  string      `json:"why"`
}

type scenarioCard struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

type anomalyCard struct {
	Name    checker.Name `json:"name"`
	Meaning string       `json:"meaning"`
	Why     string       `json:"why"`
}

func newCatalogue() catalogue {
	var all catalogue
	explored := map[string]bool{}
	for _, lock := range impls.Explored() {
		explored[lock.Name] = true
	}
	for _, lock := range impls.Every() {
		card := lockCard{Name: lock.Name, Idea: lock.Idea, Bug: lock.Bug, Source: lock.Source, Walked: explored[lock.Name], Clients: search.MostClients}
		card.File, card.Line = process.SourceOf(lock)
		if card.Walked {
			card.Faults = search.FaultsOf(lock)
		}
		all.Locks = append(all.Locks, card)
	}
	why := reasons.Why("faults")
	for _, kind := range search.Faults() {
		all.Faults = append(all.Faults, faultCard{kind, points.Meaning(string(kind)), why[string(kind)]})
	}
	scripts, err := scenarios.Builtin()
	if err != nil { // they are embedded, and a test reads them
		panic(err)
	}
	for _, s := range scripts {
		text, _ := scenarios.Source(s.Name)
		all.Scenarios = append(all.Scenarios, scenarioCard{s.Name, s.Title, text})
	}
	why = reasons.Why("anomalies")
	for _, d := range checker.Definitions() {
		all.Anomalies = append(all.Anomalies, anomalyCard{d.Name, d.Meaning, why[string(d.Name)]})
	}
	return all
}

// Cell is a history and its verdict, as the viewer shows a cell of a run.
type Cell struct {
	Kind     checker.Kind    `json:"kind"`
	Finding  string          `json:"finding"`
	Names    []checker.Name  `json:"names,omitempty"`
	Symptoms []symptom       `json:"symptoms,omitempty"`
	History  json.RawMessage `json:"history"`
}

type symptom struct {
	Name    checker.Name `json:"name"`
	At      float64      `json:"at"` // milliseconds
	Why     string       `json:"why"`
	Events  []int        `json:"events"`
	Follows int          `json:"follows"`
}

// newCell is a cell with a verdict on its events, of which the first ones are shown.
func newCell(events, shown []history.Event, verdict checker.Verdict) *Cell {
	line := timeline.Of(shown)
	told := story.Of(verdict, events)
	c := &Cell{Kind: verdict.Kind, Finding: told.Finding, Names: verdict.Names()}
	for _, s := range told.Symptoms {
		c.Symptoms = append(c.Symptoms, symptom{
			Name: s.Anomaly.Name, At: float64(s.Anomaly.At.Microseconds()) / 1000, Why: s.Anomaly.Why, Events: s.Anomaly.Events, Follows: s.Follows,
		})
	}
	keep := make([]bool, len(shown))
	for i := range keep {
		keep[i] = i < mostEvents
	}
	c.History = encode.AppendHistory(nil, line, keep)
	return c
}

// mostEvents bounds what a page has of a history.
const mostEvents = 2000
