// Package find finds scenarios by words: of a race, a fault, a command, an article or its author, in English or in the Chinese of the articles.
//
// It owns the index, its weights and its synonyms, and the rows of docs/tables/troubles.md: where to see what the articles tell of. It must not know a screen or
// a run.
package find

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/sources"
	"github.com/locklab/locklab/internal/spelling"
	"github.com/locklab/locklab/scenarios"
)

// Hit is a scenario that was found.
type Hit struct {
	Scenario string `json:"scenario"`
	Title    string `json:"title"`
	// Shows is one sentence about the race.
	Shows string `json:"shows"`
	// Locks are the best one to show it, and one that withstands it, if there is one.
	Locks   []Shown  `json:"locks"`
	Command string   `json:"command"` // without the name of the program
	Sources []string `json:"sources"`
	Score   float64  `json:"score"`
	Found   []Found  `json:"found"`
}

// Shown is a lock, and the verdict on it that the reviewed table expects.
type Shown struct {
	Lock     string `json:"lock"`
	Expected string `json:"expected"`
}

// Found says where a word of the user was found. The score is the sum over all of them: the weight of the field, times how rare the word is.
type Found struct {
	Word  string `json:"word"`
	As    string `json:"as,omitempty"` // the synonym that was found
	Field string `json:"field"`
}

// Index is what is known about each scenario.
type Index struct {
	matrix  *scenarios.Matrix
	entries []entry
	words   synonyms
	aliases map[string][]string
	all     []string // the words of all entries
}

type entry struct {
	script *scenarios.Script
	fields []field
	rows   []row
	// names are what stands for the whole scenario: its name and title, other names of its race, and its troubles.
	names []name
}

// name is a text that stands for a scenario.
type name struct {
	said string
	text text
}

// field is a part of what is known about a scenario.
type field struct {
	name   string
	weight float64
	text   text
}

// row is a trouble that the scenario shows.
type row struct {
	Trouble
	text text
}

// maxHits is how many hits are shown at most; those are left out that score less than leastShare of the best.
const (
	maxHits    = 8
	leastShare = 0.12
)

// wholeName is the weight of a name that the user says in full; twice that, if nothing else is said.
const wholeName = 10.0

// asSynonym is how much a synonym counts beside the word itself.
const asSynonym = 0.6

// Builtin is the index of the scenarios that come with the lab. It is made once: that is most of the work.
var Builtin = sync.OnceValues(func() (*Index, error) {
	scripts, err := scenarios.Builtin()
	if err != nil {
		return nil, err
	}
	matrix, err := scenarios.BuiltinExpected()
	if err != nil {
		return nil, err
	}
	return newIndex(scripts, matrix), nil
})

func newIndex(scripts []*scenarios.Script, matrix *scenarios.Matrix) *Index {
	x := &Index{matrix: matrix, words: readSynonyms(), aliases: readAliases()}
	troubles := Troubles()
	for _, script := range scripts {
		e := x.entry(script, troubles)
		x.entries = append(x.entries, e)
		for _, f := range e.fields {
			x.all = append(x.all, slices.Collect(maps.Keys(f.text.words))...)
		}
	}
	slices.Sort(x.all)
	x.all = slices.Compact(x.all)
	return x
}

func (x *Index) entry(script *scenarios.Script, troubles []Trouble) entry {
	e := entry{script: script}
	text := func(texts ...string) text { return newText(x.words.stems(texts...)) }
	var what, claimed, steps, locks, anomalies, injected, origins, titles []string
	for _, t := range troubles {
		if t.Scenario != script.Name {
			continue
		}
		what = append(what, t.What)
		claimed = append(claimed, t.Anomalies)
		if spec, ok := impls.Find(t.Lock); ok {
			locks = append(locks, spec.Name, spec.Idea, spec.Bug)
		}
		origins = append(origins, t.Article)
		e.rows = append(e.rows, row{t, text(t.What, t.Lock, t.Article, t.Anomalies)})
	}
	for _, step := range script.Steps {
		steps = append(steps, step.Text)
	}
	for _, need := range script.Needs {
		steps = append(steps, string(need))
	}
	steps = append(steps, string(script.Workload))
	for _, lock := range x.matrix.Locks(script.Name) {
		for _, name := range Expected(x.matrix, script.Name, lock).Names() {
			anomalies = append(anomalies, string(name))
		}
	}
	for _, fault := range Faults(script) {
		injected = append(injected, string(fault.Kind), fault.Meaning)
	}
	cited, _ := sources.Cited(strings.Join(append(origins, script.Source), "; "))
	origins = append(origins, script.Source)
	for _, r := range cited {
		origins = append(origins, r.ID, r.Author)
		titles = append(titles, r.Title, r.Original)
	}
	for _, said := range slices.Concat([]string{script.Name, script.Title}, x.aliases[script.Name], what) {
		e.names = append(e.names, name{said: said, text: text(said)})
	}
	e.fields = []field{
		{"name", 3, text(script.Name)},
		{"title", 4, text(script.Title)},
		{"also called", 3, text(x.aliases[script.Name]...)},
		{"trouble", 3, text(slices.Concat(what, claimed)...)},
		{"about", 2, text(script.About...)},
		{"sources", 2, text(origins...)},
		{"titles of sources", 1, text(titles...)},
		{"anomalies", 1, text(anomalies...)},
		{"locks", 1, text(locks...)},
		{"faults", 1, text(injected...)},
		{"steps", 1, text(steps...)},
	}
	return e
}

// Aliases are what the race of a scenario is also called.
func (x *Index) Aliases(scenario string) []string { return x.aliases[scenario] }

// Faults are the kinds of faults that a script injects, and the requests and replies that it holds.
func Faults(script *scenarios.Script) []faults.Fault {
	begun := map[faults.Kind]bool{}
	for _, step := range script.Steps {
		if fault, ok := step.Fault(); ok {
			begun[fault.Kind] = true
		}
		for _, at := range step.Breakpoints {
			begun[at.Action.Kind()] = true
		}
	}
	return slices.DeleteFunc(faults.All(), func(fault faults.Fault) bool { return !begun[fault.Kind] })
}

// Find finds scenarios by words, the best first.
func (x *Index) Find(said string) []Hit {
	q := query{words: x.ask(said), whole: newText(x.words.stems(said))}
	type ranked struct {
		entry
		score float64
		found []Found
	}
	var all []ranked
	for _, e := range x.entries {
		if score, found := x.score(e, q); score > 0 {
			all = append(all, ranked{e, score, found})
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	var hits []Hit
	for i, r := range all {
		if i < maxHits && r.score >= leastShare*all[0].score {
			hit := x.show(r.entry, q)
			hit.Score, hit.Found = math.Round(100*r.score)/100, r.found
			hits = append(hits, hit)
		}
	}
	return hits
}

// query is what the user asks for: words, and the whole text.
type query struct {
	words []word
	whole text
}

// word is a word or a known phrase, and what else it may be called.
type word struct {
	said string
	as   []string // said first
	rare float64
}

// ask splits what the user said into words. A word that nothing has is taken for the nearest one that something has.
func (x *Index) ask(said string) []word {
	words := x.words.in(said)
	for i := range words {
		w := &words[i]
		w.rare = x.rarity(*w)
		if w.rare > 0 || isHan(w.said) || len(w.said) < 4 {
			continue
		}
		if near := spelling.Nearest(w.said, x.all); near != "" && !strings.Contains(near, w.said) {
			w.as = append(w.as, near)
			w.rare = x.rarity(*w)
		}
	}
	return words
}

// rarity is greater, the fewer scenarios have the word; 0: none has it.
func (x *Index) rarity(w word) float64 {
	n := 0
	for _, e := range x.entries {
		if slices.ContainsFunc(e.fields, func(f field) bool { return slices.ContainsFunc(w.as, f.text.has) }) {
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return math.Log(float64(len(x.entries)+1) / float64(n))
}

// score is the sum over the fields, of the words that each has, and over the names that the user said in full.
func (x *Index) score(e entry, q query) (sum float64, found []Found) {
	for _, f := range e.fields {
		for _, w := range q.words {
			worth, as := f.text.worth(w)
			if worth == 0 {
				continue
			}
			sum += f.weight * worth
			if as == w.said {
				as = ""
			}
			found = append(found, Found{Word: w.said, As: as, Field: f.name})
		}
	}
	for _, name := range e.names {
		if !strings.Contains(q.whole.all, name.text.all) {
			continue
		}
		weight := wholeName
		if name.text.all == q.whole.all {
			weight *= 2
		}
		for _, w := range x.ask(name.said) {
			sum += weight * w.rare
		}
		found = append(found, Found{Word: name.said, Field: "name in full"})
	}
	return sum, found
}

// worth is what a word counts that the text has, as itself or as a synonym.
func (t text) worth(w word) (worth float64, as string) {
	for i, as := range w.as {
		switch {
		case !t.has(as):
		case i == 0:
			return w.rare, as
		default:
			return asSynonym * w.rare, as
		}
	}
	return 0, ""
}

// show words a hit: what the scenario shows, by which locks, and how to run it. Where several troubles are seen in it, it is the one that has most of the
// words; where none is, the lock is the best one by the table.
func (x *Index) show(e entry, q query) Hit {
	hit := Hit{Scenario: e.script.Name, Title: e.script.Title, Shows: e.script.Title, Locks: []Shown{}, Sources: []string{}}
	cited, _ := sources.Cited(e.script.Source)
	for _, r := range cited {
		hit.Sources = append(hit.Sources, r.String())
	}
	locks := best(x.matrix, e.script.Name)
	most := -1.0
	for _, r := range e.rows {
		score := 0.0
		for _, w := range q.words {
			worth, _ := r.text.worth(w)
			score += worth
		}
		if score > most {
			most, hit.Shows, locks = score, strings.TrimPrefix(r.What, "★ "), []string{r.Lock}
			if r.Withstands != "" {
				locks = append(locks, r.Withstands)
			}
		}
	}
	for _, lock := range locks {
		hit.Locks = append(hit.Locks, Shown{lock, Expected(x.matrix, e.script.Name, lock).String()})
	}
	hit.Command = Command(e.script, locks...)
	return hit
}
