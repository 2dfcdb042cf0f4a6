package page

import (
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/reasons"
	"github.com/locklab/locklab/scenarios"
)

// pageFault is a fault of a scenario of the page.
type pageFault struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
	Why     string `json:"why"`
}

// explain adds what lab explain says of the anomalies, the faults and the scenarios of the page. Which locks stop what goes wrong is by the run itself.
func (x *pageIndex) explain(scripts []*scenarios.Script) {
	why := reasons.Why("anomalies")
	var seen []reasons.Seen
	for n, c := range x.cells {
		for _, at := range x.Cells[n][firstAnomaly:] {
			x.Anomalies[at].Why = why[string(x.Anomalies[at].Name)]
		}
		if c.Storm == nil {
			seen = append(seen, reasons.Seen{Lock: c.Lock, Scenario: c.Scenario, Verdict: c.Verdict})
		}
	}
	repairs := reasons.InRun(scripts, seen)
	injected := map[string]bool{}
	for i := range x.Scenarios {
		s := &x.Scenarios[i]
		for _, stop := range repairs[s.Name].Stops {
			s.Stops = append(s.Stops, stop.Lock)
		}
		for _, seem := range repairs[s.Name].Seems {
			s.Seems = append(s.Seems, seem.String())
		}
		for _, name := range s.Faults {
			injected[name] = true
		}
	}
	why = reasons.Why("faults")
	for _, f := range faults.All() {
		if name := string(f.Kind); injected[name] {
			x.Faults = append(x.Faults, pageFault{name, f.Meaning, why[name]})
		}
	}
}
