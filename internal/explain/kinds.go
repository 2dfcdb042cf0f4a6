package explain

import (
	"slices"
	"strings"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/find"
	"github.com/locklab/locklab/internal/reasons"
	"github.com/locklab/locklab/internal/sources"
	"github.com/locklab/locklab/scenarios"
)

// What each kind of names adds to an entry, and which scenarios the matrix is asked about.

func (x *Index) anomaly(e *Entry) reasons.Group {
	name := checker.Name(e.Name.Name)
	t := x.texts[Anomaly][e.Name.Name]
	e.Why = paragraphs(t.Paragraph(0))
	shown := reasons.Shows(name)
	x.show(e, reasons.Shortest(x.Cells, shown), t)
	return x.Where(shown, shown)
}

func (x *Index) fault(e *Entry) reasons.Group {
	f, _ := faults.Find(e.Name.Name)
	t := x.texts[Fault][e.Name.Name]
	e.Why = paragraphs(t.Paragraph(0))
	if f.Begins != "" {
		e.Facts = append(e.Facts, Fact{"in a script", strings.TrimSuffix(f.Begins+" … "+f.Ends, " … ")})
	}
	if f.Flag != "" {
		e.Facts = append(e.Facts, Fact{"in a search", "lab explore LOCK --" + f.Flag + " 1"})
	}
	return x.showOf(e, t, x.inScripts(func(script *scenarios.Script) bool {
		return slices.ContainsFunc(find.Faults(script), func(other faults.Fault) bool { return other.Kind == f.Kind })
	}))
}

// inScripts says of a cell what is so of its script. Each script is looked at once.
func (x *Index) inScripts(is func(*scenarios.Script) bool) func(*reasons.Cell) bool {
	list := map[*scenarios.Script]bool{}
	for _, script := range x.Scripts {
		list[script] = is(script)
	}
	return func(c *reasons.Cell) bool { return list[c.Script] }
}

// showOf has an entry show the clearest of some cells. Where locks break in them, that is what is to be stopped.
func (x *Index) showOf(e *Entry, t reasons.Text, of func(*reasons.Cell) bool) reasons.Group {
	x.show(e, x.Clearest(of), t)
	if g := x.Where(reasons.Broken, of); len(g.Scripts) > 0 {
		return g
	}
	return x.here(e)
}

// telling is the most telling of some cells: that of the first trouble in the list, or else the clearest.
func (x *Index) telling(of func(*reasons.Cell) bool) *reasons.Cell {
	for _, t := range find.Troubles() {
		if c := x.At(t.Lock, t.Scenario); c != nil && of(c) {
			return c
		}
	}
	return x.Clearest(of)
}

func (x *Index) lock(e *Entry) reasons.Group {
	spec, _ := impls.Find(e.Name.Name)
	own := func(c *reasons.Cell) bool { return c.Lock == e.Name.Name }
	if x.Of(e.Name.Name) == nil { // a bug that is shown only together with others
		own = func(c *reasons.Cell) bool {
			return reasons.BaseOf(c.Lock) == reasons.BaseOf(e.Name.Name) && slices.Contains(bugsOf(c.Lock), bugsOf(e.Name.Name)[0])
		}
	}
	e.Facts = append(e.Facts, Fact{"promises", strings.Join(impls.PromiseWordsOf(spec.Promises), ", ")})
	if spec.Bug != "" && spec.Bug != e.What {
		e.Why = append(e.Why, "Its bug: "+sentence(spec.Bug))
	}
	x.show(e, x.telling(own), reasons.Text{})
	if e.Cell != nil {
		e.Why = append(e.Why, paragraphs(aboutOf(e.Cell.of.Script))...)
	}
	return x.here(e)
}

// bugsOf are the bugs that a name selects.
func bugsOf(lock string) []string {
	_, bugs, _ := strings.Cut(lock, "/")
	return strings.Split(bugs, "+")
}

func (x *Index) scenario(e *Entry) reasons.Group {
	x.show(e, x.telling(func(c *reasons.Cell) bool { return c.Script.Name == e.Name.Name }), reasons.Text{})
	script, _ := scenarios.Find(x.Scripts, e.Name.Name)
	e.Why = paragraphs(aboutOf(script))
	var injected []string
	for _, f := range find.Faults(script) {
		injected = append(injected, string(f.Kind))
	}
	if len(injected) > 0 {
		e.Facts = append(e.Facts, Fact{"faults", strings.Join(injected, ", ")})
	}
	return x.here(e)
}

// aboutOf is what the comment of a script says below its title.
func aboutOf(script *scenarios.Script) string { return strings.Join(script.About, " ") }

// namesInFact is how many names a fact lists at most.
const namesInFact = 4

func (x *Index) promise(e *Entry) reasons.Group {
	t := x.texts[Promise][e.Name.Name]
	e.Why = paragraphs(t.Paragraph(0))
	var by []string
	for _, spec := range x.Locks {
		if slices.Contains(impls.PromiseWordsOf(spec.Promises), e.Name.Name) {
			by = append(by, spec.Name)
		}
	}
	if len(by) > 0 {
		e.Facts = append(e.Facts, Fact{"made by", few(by, namesInFact)})
	}
	x.show(e, nil, t)
	g := x.here(e)
	if g.Scripts != nil {
		g.Bad = reasons.Shows(checker.Name(t.Hints["shows"]))
	}
	return g
}

func (x *Index) source(e *Entry) reasons.Group {
	cites := func(text string) bool { return slices.Contains(x.cites()[text], e.Name.Name) }
	t := x.texts[Source][e.Name.Name]
	e.Why = paragraphs(t.Paragraph(0))
	var told *reasons.Cell
	var scripts, locks []string
	from := map[*scenarios.Script]bool{}
	for _, script := range x.Scripts {
		from[script] = cites(script.Source)
	}
	for _, row := range find.Troubles() {
		c := x.At(row.Lock, row.Scenario)
		if c == nil || !cites(row.Article) {
			continue
		}
		from[c.Script] = true
		if told == nil {
			told = c
			if t.Lines == nil {
				e.Why = append(e.Why, "Shown here: "+sentence(strings.TrimPrefix(row.What, "★ ")))
			}
		}
	}
	for _, spec := range x.Locks {
		if cites(spec.Source) {
			locks = append(locks, spec.Name)
		}
	}
	for _, script := range x.Scripts {
		if from[script] {
			scripts = append(scripts, script.Name)
		}
	}
	if told == nil {
		told = x.Clearest(func(c *reasons.Cell) bool { return from[c.Script] })
	}
	if told == nil {
		told = x.Clearest(func(c *reasons.Cell) bool { return slices.Contains(locks, c.Lock) })
	}
	for label, names := range map[string][]string{"scenarios": scripts, "locks": locks} {
		if len(names) > 0 {
			e.Facts = append(e.Facts, Fact{label, few(names, namesInFact)})
		}
	}
	slices.SortFunc(e.Facts, func(a, b Fact) int { return strings.Compare(a.Label, b.Label) })
	x.show(e, told, t)
	if e.Cell != nil {
		e.Why = append(e.Why, paragraphs(aboutOf(e.Cell.of.Script))...)
	}
	for _, r := range sources.All() {
		if r.ID == e.Name.Name && r.Address != "" {
			e.More = append(e.More, Fact{"address", r.Address})
		}
	}
	return x.here(e)
}

func (x *Index) workload(e *Entry) reasons.Group {
	work := history.Workload(e.Name.Name)
	t := x.texts[Workload][e.Name.Name]
	e.Why = paragraphs(t.Paragraph(0))
	return x.showOf(e, t, func(c *reasons.Cell) bool { return c.Script.Workload == work })
}

// capabilities are those that faults need.
func capabilities() (names []string) {
	for _, f := range faults.All() {
		for _, c := range f.Needs {
			if !slices.Contains(names, string(c)) {
				names = append(names, string(c))
			}
		}
	}
	return names
}

func (x *Index) capability(e *Entry) reasons.Group {
	t := x.texts[Capability][e.Name.Name]
	e.Why = paragraphs(t.Paragraph(1))
	var by []string
	for _, f := range faults.All() {
		if slices.Contains(f.Needs, faults.Capability(e.Name.Name)) {
			by = append(by, string(f.Kind))
		}
	}
	e.Facts = append(e.Facts, Fact{"faults", few(by, namesInFact)})
	x.show(e, x.Clearest(x.inScripts(func(script *scenarios.Script) bool {
		return slices.ContainsFunc(find.Faults(script), func(f faults.Fault) bool { return slices.Contains(by, string(f.Kind)) })
	})), t)
	return reasons.Group{}
}

// aboutWord is what the reference of the language says of a word: its first sentence, and the rest.
func (x *Index) aboutWord(form, word string) (what, rest string) {
	all := x.words[form+" "+word].Paragraph(0)
	if all == "" && form == "server verb" {
		all = x.words["lab verb server "+word].Paragraph(0)
	}
	what, rest, _ = strings.Cut(all, ". ")
	return strings.TrimSuffix(what, "."), rest
}

func (x *Index) word(e *Entry) reasons.Group {
	_, rest := x.aboutWord(string(e.Kind), e.Name.Name)
	e.Why = paragraphs(rest)
	x.show(e, x.Clearest(func(c *reasons.Cell) bool { return slices.Contains(x.uses()[c.Script][string(e.Kind)], e.Name.Name) }), reasons.Text{})
	if e.Cell != nil {
		if line := lineWith(e.Cell.of.Script, string(e.Kind), e.Name.Name); line != "" {
			e.Facts = append(e.Facts, Fact{"for example", line})
		}
	}
	return reasons.Group{} // a word repairs nothing
}

// lineWith is the first step of a script that uses a word.
func lineWith(script *scenarios.Script, form, word string) string {
	for _, step := range script.Steps {
		if slices.Contains((&scenarios.Script{Steps: []scenarios.Step{step}}).Uses()[form], word) {
			return strings.Join(strings.Fields(step.Text), " ")
		}
	}
	return ""
}

// readUses reads what each script has of the grammar.
func (x *Index) readUses() map[*scenarios.Script]map[string][]string {
	uses := map[*scenarios.Script]map[string][]string{}
	for _, script := range x.Scripts {
		uses[script] = script.Uses()
	}
	return uses
}

// readCitations reads what scripts, cards and troubles cite, by the text that cites.
func (x *Index) readCitations() map[string][]string {
	cites := map[string][]string{}
	read := func(text string) {
		if _, known := cites[text]; known {
			return
		}
		cited, _ := sources.Cited(text) // that all are known, a test of the bibliography says
		for _, r := range cited {
			cites[text] = append(cites[text], r.ID)
		}
	}
	for _, script := range x.Scripts {
		read(script.Source)
	}
	for _, spec := range x.Locks {
		read(spec.Source)
	}
	for _, row := range find.Troubles() {
		read(row.Article)
	}
	return cites
}
