package look

import (
	"cmp"
	"strings"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/find"
	"github.com/locklab/locklab/internal/sources"
	"github.com/locklab/locklab/scenarios"
)

// The entries of lab list --json: all that is known of a lock, a scenario, a workload, a fault. The first three names of a lock's, and the first two of
// another's, are the heads of the table.

type knownLock struct {
	Lock      string              `json:"lock"`
	From      string              `json:"from"`
	Idea      string              `json:"idea"`
	Bug       string              `json:"bug,omitempty"`
	Bugs      []knownBug          `json:"bugs,omitempty"`
	Promises  []string            `json:"promises"`
	Needs     string              `json:"needs"`
	Servers   int                 `json:"servers"`
	Sends     map[string][]string `json:"sends,omitempty"`
	Clocks    []impls.Clock       `json:"clocks,omitempty"`
	Leaseless bool                `json:"leaseless"`
	Renews    bool                `json:"renews"`
	Resends   bool                `json:"resends"`
	Renew     bool                `json:"can_renew"`
	Check     bool                `json:"can_check"`
	Permits   int                 `json:"permits"`
	Source    string              `json:"source"`
	Sources   []sources.Reference `json:"sources"`
}

type knownBug struct {
	Bug   string `json:"bug"`
	What  string `json:"what"`
	Apart bool   `json:"apart"`
}

func knownLocks() []knownLock {
	var all []knownLock
	for _, spec := range impls.Every() {
		from, _, _ := strings.Cut(spec.Source, ";")
		lock := knownLock{
			Lock: spec.Name, From: from, Idea: spec.Idea, Bug: spec.Bug, Promises: impls.PromiseWordsOf(spec.Promises), Needs: string(spec.Needs),
			Servers: max(spec.Servers, 1), Clocks: spec.Clocks, Leaseless: spec.Leaseless, Renews: spec.Renews, Resends: spec.Resends,
			Renew: spec.CanRenew(), Check: spec.CanCheck(), Permits: max(spec.Permits, 1), Source: spec.Source, Sources: cited(spec.Source),
		}
		if spec.Needs == impls.NoServer {
			lock.Servers = 0
		}
		lock.Bugs = cli.Map(spec.Bugs, func(bug impls.Bug) knownBug { return knownBug{bug.Name, bug.What, bug.Apart} })
		for op, commands := range spec.Sends {
			if lock.Sends == nil {
				lock.Sends = map[string][]string{}
			}
			lock.Sends[op.String()] = append([]string{}, commands...)
		}
		all = append(all, lock)
	}
	return all
}

type knownScenario struct {
	Scenario string              `json:"scenario"`
	Title    string              `json:"title"`
	About    string              `json:"about"`
	Also     []string            `json:"also_called,omitempty"`
	Source   string              `json:"source"`
	Sources  []sources.Reference `json:"sources"`
	Troubles []knownTrouble      `json:"troubles,omitempty"`
	Lease    int64               `json:"lease_ms"`
	Clients  []string            `json:"clients"`
	Handles  []string            `json:"handles,omitempty"`
	Servers  int                 `json:"servers"` // 0: as many as the lock uses
	Needs    []scenarios.Need    `json:"needs,omitempty"`
	Workload string              `json:"workload,omitempty"`
	Faults   []faults.Kind       `json:"faults"`
	Words    map[string][]string `json:"words"`     // of the script language, by their form
	Expected map[string]string   `json:"expected"`  // by the lock
	Shown    map[string][]string `json:"anomalies"` // that are expected, with the locks that show them
}

type knownTrouble struct {
	From       string   `json:"from"`
	What       string   `json:"what"`
	Lock       string   `json:"lock"`
	Anomalies  []string `json:"anomalies"`
	Withstands string   `json:"withstands,omitempty"`
	Command    string   `json:"command"`
}

func knownScenarios(scripts []*scenarios.Script) ([]knownScenario, error) {
	matrix, err := scenarios.BuiltinExpected()
	if err != nil {
		return nil, err
	}
	index, err := find.Builtin()
	if err != nil {
		return nil, err
	}
	var all []knownScenario
	troubles := find.Troubles()
	for _, script := range scripts {
		s := knownScenario{
			Scenario: script.Name, Title: script.Title, About: strings.Join(script.About, " "), Also: index.Aliases(script.Name), Source: script.Source, Sources: cited(script.Source),
			Lease: script.Lease.Milliseconds(), Clients: script.Clients, Handles: script.Handles, Servers: script.Servers, Needs: script.Needs,
			Workload: string(script.Workload), Faults: []faults.Kind{}, Words: script.Uses(), Expected: map[string]string{}, Shown: map[string][]string{},
		}
		s.Faults = append(s.Faults, cli.Map(find.Faults(script), func(fault faults.Fault) faults.Kind { return fault.Kind })...)
		for _, lock := range matrix.Locks(script.Name) {
			verdict := find.Expected(matrix, script.Name, lock)
			s.Expected[lock] = verdict.String()
			for _, name := range verdict.Names() {
				s.Shown[string(name)] = append(s.Shown[string(name)], lock)
			}
		}
		for _, t := range troubles {
			if t.Scenario == script.Name {
				locks := append([]string{t.Lock}, strings.Fields(t.Withstands)...)
				s.Troubles = append(s.Troubles, knownTrouble{t.Article, t.What, t.Lock, strings.Split(t.Anomalies, ", "), t.Withstands, "lab " + find.Command(script, locks...)})
			}
		}
		all = append(all, s)
	}
	return all, nil
}

type knownWorkload struct {
	Workload string              `json:"workload"`
	Idea     string              `json:"idea"`
	Begins   string              `json:"begins,omitempty"` // what a script may set
	Source   string              `json:"source,omitempty"`
	Sources  []sources.Reference `json:"sources"`
}

func knownWorkloads() []knownWorkload {
	return cli.Map(scenarios.Workloads(), func(w scenarios.Workload) knownWorkload {
		known := knownWorkload{Workload: string(w.Name), Idea: w.Idea, Source: w.Source, Sources: cited(w.Source)}
		if w.Name.Sells() {
			known.Begins = "stock"
		}
		return known
	})
}

type knownFault struct {
	Fault    faults.Kind         `json:"fault"`
	Meaning  string              `json:"meaning"`
	Recorded faults.Kind         `json:"recorded"` // the kind in histories
	Target   string              `json:"target"`
	OneShot  bool                `json:"one_shot"`         // it is over at once
	Begins   string              `json:"begins,omitempty"` // the verbs of scripts
	Ends     string              `json:"ends,omitempty"`
	Flag     string              `json:"flag,omitempty"` // of lab explore
	State    string              `json:"state,omitempty"`
	Needs    []faults.Capability `json:"needs,omitempty"`
}

func knownFaults() []knownFault {
	targets := map[faults.Target]string{
		faults.OnProcess: "process", faults.OnClient: "client", faults.OnClock: "clock", faults.OnLink: "link", faults.OnMessage: "message",
		faults.OnServer: "server", faults.OnHost: "host",
	}
	return cli.Map(faults.All(), func(f faults.Fault) knownFault {
		k := knownFault{f.Kind, f.Meaning, cmp.Or(f.Recorded, f.Kind), targets[f.Target], f.OneShot, f.Begins, f.Ends, f.Flag, f.State, f.Needs}
		if k.Flag != "" {
			k.Flag = "--" + k.Flag
		}
		return k
	})
}

// cited are the references that a text cites.
func cited(text string) []sources.Reference {
	references, _ := sources.Cited(text)
	return append([]sources.Reference{}, references...)
}
