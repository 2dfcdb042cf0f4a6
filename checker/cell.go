package checker

import "time"

// Run is what run.json holds: all that is needed to report a run, and to judge its histories again without the sources.
type Run struct {
	Version   int       `json:"version"`
	ID        string    `json:"id"`
	Started   time.Time `json:"started"`
	Seed      int64     `json:"seed"`
	World     string    `json:"world"`     // "live"
	Server    string    `json:"server"`    // what the cells ran on, with its version
	Toxiproxy string    `json:"toxiproxy"` // version, and where it ran
	Lab       string    `json:"lab"`       // version of the lab
	Platform  string    `json:"platform"`  // "linux/amd64, go1.26.8, 2 cores"
	Command   []string  `json:"command"`   // the arguments of the lab, to run it again
	Dir       string    `json:"-"`         // where the results lie
	Cells     []Cell    `json:"cells"`
	Finished  bool      `json:"finished"` // false: interrupted, or the lab was killed
}

// Cell is one lock in one scenario, run once.
type Cell struct {
	Lock     string `json:"lock"`
	Scenario string `json:"scenario"`
	// Round counts from 1 when each cell is run several times.
	Round int `json:"round"`
	// Dir is the cell's directory below the run's.
	Dir      string   `json:"dir"`
	Verdict  Verdict  `json:"verdict"`
	Expected Expected `json:"expected"`
	// Known: the baseline of the run has this surprise, or the run was to accept it, so it is no news.
	Known bool `json:"known,omitempty"`
	// Took is how long the cell ran.
	Took time.Duration `json:"took_ns"`
	// Failure is set when the lab, its checker or a server failed; the verdict is then unknown.
	Failure string `json:"failure,omitempty"`
}

// Expected is what a cell should come to, and who says so. A verdict without a kind means that anything may come of it: the lock
// is known to be broken, and nobody has reviewed what this script shows of it.
type Expected struct {
	Verdict Verdict `json:"verdict"`
	By      string  `json:"by"` // one of the By constants
}

// Who can say what is expected.
const (
	ByMatrix  = "matrix"  // the reviewed matrix
	ByCard    = "card"    // the lock's own card
	ByDefault = "default" // nobody knows the lock: it is expected to be safe
	ByNeeds   = "needs"   // the lock or the server lacks what the script says that it needs
)

// Surprise says whether the cell came out otherwise than expected. Unknown is no surprise; it has an exit code of its own.
func (c Cell) Surprise() bool {
	switch {
	case c.Verdict.Kind == Undecided || c.Expected.Verdict.Kind == "":
		return false
	case c.Verdict.Kind == NotApplicable && c.Expected.By == ByDefault:
		return false
	}
	return !c.Verdict.Same(c.Expected.Verdict)
}
