// Package record is what a run leaves behind: run.json with its cells, what was expected of each, and the totals of storms.
//
// It owns these types, and whether a cell came out as expected. It must not know where records lie, nor how they are shown.
package record

import (
	"slices"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
)

// Run is what run.json holds: all that is needed to report a run, and to judge its histories again without the sources.
type Run struct {
	Version   int       `json:"version"`
	ID        string    `json:"id"`
	Started   time.Time `json:"started"`
	Seed      int64     `json:"seed"`
	World     string    `json:"world"`     // "live" or "sim"
	Server    string    `json:"server"`    // what the cells ran on, with its version
	Toxiproxy string    `json:"toxiproxy"` // version, and where it ran
	Lab       string    `json:"lab"`       // version of the lab
	Platform  string    `json:"platform"`  // "linux/amd64, go1.26.8, 2 cores"
	Command   []string  `json:"command"`   // the arguments of the lab, to run it again
	Dir       string    `json:"-"`         // where the results lie
	Cells     []Cell    `json:"cells"`
	Finished  bool      `json:"finished"` // false: interrupted, or the lab was killed
	// Elsewhere: the run is in a setting that nobody reviewed, such as a server at an address. What is n/a there is news.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Part is set if the run is one part of several, each for a machine of its own, and says which.
	Part *Part `json:"part,omitempty"`
}

// Part is one of several parts of a whole.
type Part struct {
	Index  int    `json:"index"`  // from 1
	Of     int    `json:"of"`     // how many parts there are
	Whole  string `json:"whole"`  // the same for all parts of a whole: a digest of what it is made of
	Total  int    `json:"total"`  // how many items the whole has
	Places []int  `json:"places"` // where the items of this part are among them, from 0
}

// Cell is one lock in one scenario, run once.
type Cell struct {
	Lock     string `json:"lock"`
	Scenario string `json:"scenario"`
	// Client is the command of the foreign client that was tested; nil: the lock is one of the lab's.
	Client []string `json:"client,omitempty"`
	// Round counts from 1 when each cell is run several times.
	Round int `json:"round"`
	// Workload is what was done under the lock; empty: a counter was.
	Workload string `json:"workload,omitempty"`
	// Dir is the cell's directory below the run's.
	Dir      string          `json:"dir"`
	Verdict  checker.Verdict `json:"verdict"`
	Expected Expectation     `json:"expected"`
	// Finding says in one sentence what went wrong: the cause, what came of it, and what was lost. Empty: nothing is known to have.
	Finding string `json:"finding,omitempty"`
	// Interrupted: the cell was begun and not played to its end. What it showed counts; that it showed nothing does not.
	Interrupted bool `json:"interrupted,omitempty"`
	// Data says in one line what became of the data that was worked on; empty for a counter.
	Data string `json:"data,omitempty"`
	// Skipped lists the steps of the script that were not carried out, each with its line and the reason.
	Skipped []string `json:"skipped,omitempty"`
	// Known: the baseline of the run has this surprise, or the run was to accept it, so it is no news.
	Known bool `json:"known,omitempty"`
	// Stalls has a host stall for each retry of the cell. Each retry doubles the lease and all other times of the script.
	Stalls []string `json:"stalls,omitempty"`
	// Took is how long the cell ran.
	Took time.Duration `json:"took_ns"`
	// Failure is set when the lab, its checker or a server failed; the verdict is then unknown.
	Failure string `json:"failure,omitempty"`
	// Storm is set for a storm.
	Storm *Storm `json:"storm,omitempty"`
}

// Expectation is what a cell should come to, and who says so. A verdict without a kind means that anything may come of it: the lock
// is known to be broken, and its verdict in this script has not been reviewed.
type Expectation struct {
	Verdict checker.Verdict `json:"verdict"`
	By      string          `json:"by"` // one of the By constants
	// Promises are those of the lock's card or of the client's hello, by which the cell is judged.
	Promises []string `json:"promises,omitempty"`
	// Contract is what the lock declares of itself; a storm must know whether it renews its lease, because then the end of that is the lock's own affair.
	history.Contract
}

// Who can say what is expected.
const (
	ByMatrix  = "matrix"                   // the reviewed matrix
	ByLock    = "matrix, but for the data" // the same, for another workload than the one that was reviewed
	ByFile    = "file"                     // the user's own table
	ByCard    = "card"                     // the lock's own card
	ByScript  = "script"                   // the script, of the lock that it was written for: at least so much is wrong
	ByDefault = "default"                  // nothing is known of the lock: it is expected to be safe
	ByNeeds   = "needs"                    // the lock or the server lacks what the script says that it needs
	// ByPromises: of a storm, and of a foreign client, only that is expected, of a sound lock, that it breaks none of its promises, and of a
	// broken one that it is caught.
	ByPromises = "promises"
)

// Surprise says whether the cell came out otherwise than expected. Unknown is no surprise; it has an exit code of its own.
func (c Cell) Surprise() bool {
	switch {
	case c.Verdict.Kind == checker.Undecided || c.Expected.Verdict.Kind == "":
		return false
	case c.Verdict.Kind == checker.NotApplicable && (c.Expected.By == ByDefault || c.Expected.By == ByPromises && c.Storm == nil):
		return false
	case c.Expected.By == ByPromises && c.Verdict.Kind != checker.NotApplicable:
		return c.Verdict.BreaksPromise() != (c.Expected.Verdict.Kind == checker.Broken)
	case c.Expected.By == ByScript:
		return !includes(c.Verdict, c.Expected.Verdict)
	case c.Expected.By == ByLock:
		return !sameButData(c.Verdict, c.Expected.Verdict)
	}
	return !c.Verdict.Same(c.Expected.Verdict)
}

// includes says whether a verdict names all the anomalies of another.
func includes(v, least checker.Verdict) bool {
	names := v.Names()
	return v.Kind == checker.Broken && !slices.ContainsFunc(least.Names(), func(n checker.Name) bool { return !slices.Contains(names, n) })
}

// sameButData holds a verdict under one workload against what was reviewed under another. What happened to the lock is the same;
// what that does to the data need not show in every kind of data, but where the data was safe it must be safe.
func sameButData(v, reviewed checker.Verdict) bool {
	judged := func(k checker.Kind) bool { return k == checker.Safe || k == checker.Broken }
	if !judged(v.Kind) || !judged(reviewed.Kind) {
		return v.Kind == reviewed.Kind
	}
	names, wanted := v.Names(), reviewed.Names()
	isData := func(n checker.Name) bool { return n == checker.StaleWrite || n == checker.LostUpdate }
	if slices.ContainsFunc(names, isData) && !slices.ContainsFunc(wanted, isData) {
		return false
	}
	return slices.Equal(slices.DeleteFunc(names, isData), slices.DeleteFunc(wanted, isData))
}
