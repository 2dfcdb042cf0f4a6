// Package explain explains each name that the lab lists: what it is, the shortest story that shows it, why it happens, what stops it and what only
// seems to, and where to read more. Terminal, page and playground show the same.
//
// It owns the kinds of names, and which cell shows a name; the texts are those of package reasons. What a lock or scenario is about is said by its
// card and its script. The story comes from playing that cell in the model, and what stops it from the reviewed matrix. It must not know a screen, a run,
// or a process.
package explain

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/find"
	"github.com/locklab/locklab/internal/reasons"
	"github.com/locklab/locklab/internal/sources"
	"github.com/locklab/locklab/scenarios"
)

// Kind is a kind of names. The words of scripts have a kind for each form of the grammar.
type Kind string

// The kinds besides the forms, in the order in which a name that several have is looked for.
const (
	Anomaly  Kind = "anomaly"
	Fault    Kind = "fault"
	Lock     Kind = "lock"
	Scenario Kind = "scenario"
	Promise  Kind = "promise"
	Source   Kind = "source"
	ExitCode Kind = "exit-code"
	Verdict  Kind = "verdict"
	Workload Kind = "workload"
	// Capability is what a fault needs of a world, a server or a client.
	Capability Kind = "capability"
)

// Name is a name that can be explained.
type Name struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	What string `json:"what"` // in one line
}

// Entry is all about a name but the story; see Play.
type Entry struct {
	Name
	Why []string `json:"why,omitempty"` // paragraphs
	// Facts are what else is known, each with a label.
	Facts []Fact `json:"facts,omitempty"`
	// Cell shows it; nil: no cell does.
	Cell *Cell `json:"cell,omitempty"`
	reasons.Repairs
	// More is where to go on: commands, addresses, and pages of the documentation.
	More []Fact `json:"more,omitempty"`
	// Also are the other kinds that have a thing of this name.
	Also []Kind `json:"also,omitempty"`
}

// Fact is a text with a label.
type Fact struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

// Cell is a lock in a scenario, and how it is run.
type Cell struct {
	Lock     string `json:"lock"`
	Scenario string `json:"scenario"`
	// Expected is the verdict of the reviewed matrix.
	Expected string `json:"expected"`
	// Command runs it, without the name of the program.
	Command string `json:"command"`

	of    *reasons.Cell
	hints map[string]string
}

// Index knows all names.
type Index struct {
	*reasons.Table
	texts map[Kind]map[string]reasons.Text
	words map[string]reasons.Text
	uses  func() map[*scenarios.Script]map[string][]string // what scripts have of the grammar
	cites func() map[string][]string                       // what texts cite
	names []Name
}

// New reads the built-in scenarios, the reviewed matrix and the texts, once: they are part of the program.
var New = sync.OnceValues(read)

func read() (*Index, error) {
	scripts, err := scenarios.Builtin()
	if err != nil {
		return nil, err
	}
	matrix, err := scenarios.BuiltinExpected()
	if err != nil {
		return nil, err
	}
	told := map[[2]string]bool{}
	for _, row := range find.Troubles() {
		told[[2]string{row.Scenario, row.Lock}] = true
	}
	table := reasons.NewTable(scripts, reasons.Source{
		Locks: matrix.Locks,
		Verdict: func(scenario, lock string) checker.Verdict {
			verdict, _ := matrix.Lookup(scenario, lock)
			return verdict
		},
		Told: func(scenario, lock string) bool { return told[[2]string{scenario, lock}] },
	})
	x := &Index{Table: table, texts: map[Kind]map[string]reasons.Text{}}
	for _, kind := range []Kind{Anomaly, Fault, Promise, Source, ExitCode, Verdict, Workload, Capability} {
		if x.texts[kind], _, err = readTexts(kind); err != nil {
			return nil, err
		}
	}
	if x.words, _, err = reasons.ReadTexts("words"); err != nil {
		return nil, err
	}
	x.uses, x.cites = sync.OnceValue(x.readUses), sync.OnceValue(x.readCitations)
	x.names, err = x.list()
	return x, err
}

// Names are all names, those of a kind together.
func (x *Index) Names() []Name { return x.names }

// Find is the entry of a name, or of KIND/NAME. A lock may be named with several of its bugs. Capitals count only where two names differ by nothing else.
func (x *Index) Find(name string) (*Entry, bool) {
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for _, n := range x.names {
			if same(n.Name, name) || same(string(n.Kind)+"/"+n.Name, name) || name != "" && name == x.texts[n.Kind][n.Name].Hints["also"] {
				return x.entry(n), true
			}
		}
	}
	if spec, ok := impls.Find(strings.TrimPrefix(name, string(Lock)+"/")); ok { // with several bugs of its own
		return x.entry(Name{Lock, spec.Name, spec.Bug}), true
	}
	return nil, false
}

// entry explains a name.
func (x *Index) entry(n Name) *Entry {
	e := &Entry{Name: n}
	var g reasons.Group
	switch n.Kind {
	case Anomaly:
		g = x.anomaly(e)
	case Fault:
		g = x.fault(e)
	case Lock:
		g = x.lock(e)
	case Scenario:
		g = x.scenario(e)
	case Promise:
		g = x.promise(e)
	case Source:
		g = x.source(e)
	case Workload:
		g = x.workload(e)
	case Capability:
		g = x.capability(e)
	case ExitCode, Verdict:
		g = x.plain(e)
	default:
		g = x.word(e)
	}
	for _, other := range x.names {
		if other.Name == n.Name && other.Kind != n.Kind {
			e.Also = append(e.Also, other.Kind)
		}
	}
	if e.Cell != nil && g.Bad != nil && g.Bad(e.Cell.of) {
		e.Repairs = x.Repairs(e.Cell.of, g)
	}
	x.refer(e)
	return e
}

// list are all names that the lab lists.
func (x *Index) list() (all []Name, err error) {
	add := func(kind Kind, name, what string) { all = append(all, Name{kind, name, what}) }
	for _, d := range checker.Definitions() {
		add(Anomaly, string(d.Name), d.Meaning)
	}
	for _, f := range faults.All() {
		add(Fault, string(f.Kind), f.Meaning)
	}
	for _, spec := range x.Locks {
		add(Lock, spec.Name, spec.Idea)
		for _, bug := range spec.Bugs {
			add(Lock, spec.Name+"/"+bug.Name, bug.What)
		}
	}
	for _, script := range x.Scripts {
		add(Scenario, script.Name, script.Title)
	}
	for _, p := range impls.PromiseWords() {
		add(Promise, p.Word, string(p.Promise))
	}
	for _, r := range sources.All() {
		add(Source, r.ID, r.Describe())
	}
	for _, kind := range []Kind{ExitCode, Verdict} {
		texts, names, err := readTexts(kind)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			add(kind, name, texts[name].Line())
		}
	}
	for _, work := range scenarios.Workloads() {
		add(Workload, string(work.Name), work.Idea)
	}
	for _, name := range capabilities() {
		add(Capability, name, x.texts[Capability][name].Line())
	}
	for _, form := range scenarios.Grammar() {
		for _, word := range form.Words {
			if form.Name != string(Workload) {
				what, _ := x.aboutWord(form.Name, word)
				add(Kind(form.Name), word, what)
			}
		}
	}
	return all, nil
}

// refer says where to go on.
func (x *Index) refer(e *Entry) {
	if e.Cell != nil && e.Cell.hints["expect"] == "" {
		e.More = append(e.More, Fact{"run it", "lab " + e.Cell.Command})
	}
	switch e.Kind {
	case Lock:
		e.More = append(e.More, Fact{"card", "lab show " + reasons.BaseOf(e.Name.Name)})
	case Scenario:
		e.More = append(e.More, Fact{"script", "lab show " + e.Name.Name})
	default:
		if e.Cell != nil {
			e.More = append(e.More, Fact{"script", "lab show " + e.Cell.Scenario})
		}
	}
	var cited []sources.Reference
	switch spec, _ := impls.Find(e.Name.Name); {
	case e.Kind == Lock:
		cited, _ = sources.Cited(spec.Source)
	case e.Cell != nil && e.Kind != Source && e.Kind != ExitCode && e.Kind != Verdict:
		cited, _ = sources.Cited(e.Cell.of.Script.Source)
	}
	var ids []string
	for _, r := range cited {
		ids = append(ids, r.ID)
	}
	if len(ids) > 0 {
		e.More = append(e.More, Fact{"sources", strings.Join(ids, ", ")})
	}
	_, page := filesOf(e.Kind)
	e.More = append(e.More, Fact{"page", page})
}

// plain is an entry whose cell stands in its text.
func (x *Index) plain(e *Entry) reasons.Group {
	t := x.texts[e.Kind][e.Name.Name]
	e.Why = paragraphs(t.Paragraph(1))
	x.show(e, nil, t)
	return reasons.Group{}
}

// paragraphs are those that are not empty.
func paragraphs(all ...string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return strings.TrimSpace(s) == "" })
}

// sentence is a clause as one.
func sentence(clause string) string {
	if clause == "" {
		return ""
	}
	return strings.TrimSuffix(clause, ".") + "."
}

// few are names in a line, and how many there are besides.
func few(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// commandOf runs a cell.
func commandOf(c *reasons.Cell, hints map[string]string) string {
	command := strings.TrimSuffix(find.Command(c.Script, c.Lock), " -v")
	if c.InModel() {
		command = "run " + c.Script.Name + " --lock " + c.Lock + " --world sim"
	}
	if work := c.Script; work.WorkloadOverridden {
		command += " --workload " + string(work.Workload)
	}
	if limit := hints["limit"]; limit != "" {
		command += " --timeout " + limit
	}
	return command + " -v"
}

// filesOf are where the texts about names of a kind are (empty: all about them is computed), and the page of the documentation about it.
func filesOf(kind Kind) (texts, page string) {
	switch kind {
	case Anomaly:
		return "anomalies", "docs/tables/anomalies.md"
	case Fault:
		return "faults", "docs/tables/faults.md"
	case Lock:
		return "", "docs/tables/locks.md"
	case Scenario:
		return "", "docs/concepts.md"
	case Promise:
		return "promises", "docs/tables/protocol.md"
	case Source:
		return "sources", "docs/tables/sources.md"
	case ExitCode:
		return "exit-codes", "docs/ci.md"
	case Verdict:
		return "verdicts", "docs/concepts.md"
	case Workload:
		return "workloads", "docs/workloads.md"
	case Capability:
		return "capabilities", "docs/tables/faults.md"
	}
	return "", "docs/tables/scripts.md"
}

// readTexts reads the texts about names of a kind.
func readTexts(kind Kind) (map[string]reasons.Text, []string, error) {
	file, _ := filesOf(kind)
	return reasons.ReadTexts(file)
}

// ExitCodes are the exit codes of the command, each with its meaning. That the texts can be read, a test says.
func ExitCodes() (codes [][2]string) {
	all, names, _ := readTexts(ExitCode)
	for _, name := range names {
		codes = append(codes, [2]string{name, all[name].Line()})
	}
	return codes
}

// show has an entry show a cell, unless its text names another one.
func (x *Index) show(e *Entry, c *reasons.Cell, t reasons.Text) {
	if lock, scenario, named := cutLast(t.Hints["cell"]); named {
		c = x.At(lock, scenario)
	}
	if c == nil {
		return
	}
	if e.Kind == Workload && c.Script.Workload == "" {
		under := *c
		under.Script = c.Script.Under(history.Workload(e.Name.Name))
		c = &under
	}
	e.Cell = &Cell{Lock: c.Lock, Scenario: c.Script.Name, Expected: c.Verdict.String(), Command: commandOf(c, t.Hints), of: c, hints: t.Hints}
}

// cutLast cuts at the last slash: a lock's name may have one.
func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndex(s, "/")
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// here is the group of the entry's own scenario.
func (x *Index) here(e *Entry) reasons.Group {
	if e.Cell == nil {
		return reasons.Group{}
	}
	return reasons.Group{Scripts: []*scenarios.Script{e.Cell.of.Script}, Bad: reasons.Broken}
}
