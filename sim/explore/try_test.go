package explore

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
)

func TestTry(t *testing.T) {
	name := os.Getenv("TRY")
	if name == "" {
		t.Skip()
	}
	spec, ok := impls.Find(name)
	if !ok {
		t.Fatal(name)
	}
	c := Config{Lock: spec, Clients: 2, Rounds: 1, MostFaults: 2}
	fmt.Sscan(os.Getenv("TRYS"), &c.Servers)
	fmt.Sscan(os.Getenv("TRYC"), &c.Clients, &c.Rounds, &c.MostFaults)
	for f := range c.Budget {
		if strings.Contains(os.Getenv("TRYF"), Fault(f).String()) {
			c.Budget[f] = 9
		}
	}
	if os.Getenv("TRYO") != "" {
		for _, n := range strings.Split(os.Getenv("TRYO"), ",") {
			c.Only = append(c.Only, checker.Name(n))
		}
	}
	c.Time = 20 * time.Second
	c.Plain = os.Getenv("PLAIN") != ""
	c.NoSymmetry = os.Getenv("NOSYM") != ""
	r, err := Explore(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%s: states %d in %v (%.0f/s) steps %d faults %d nodes %d learned %d sym %v facts %v limit %q horizon %v mem %d MB disputed %d\n", name, r.States, r.Took.Round(time.Millisecond), float64(r.States)/r.Took.Seconds(), r.Longest, r.Faults, r.Nodes, r.Learned, r.Symmetric, r.Facts, r.Limit, r.Horizon, r.Memory>>20, len(r.Disputed))
	show := func(tr *Trace) {
		fmt.Println(tr.Anomalies, "checker:", tr.Verdict.String(), tr.Faults)
		for i, s := range tr.Steps {
			fmt.Printf("%3d %6v %-7s C%d S%d %v %v %v %v %s | %v held %v cnt %d\n", i+1, s.At, s.Kind, s.Client+1, s.Server, s.Op, s.Answer.Outcome, s.Passed, s.Request, s.Reply, s.After, s.Held, s.Counter)
		}
		for _, a := range tr.Verdict.Anomalies {
			fmt.Println(a.Name, a.Why)
		}
	}
	if r.Found != nil {
		show(r.Found)
	} else {
		fmt.Println("HOLDS")
	}
	for i, d := range r.Disputed {
		if i < 2 {
			fmt.Println("DISPUTE", d.Anomaly)
			show(d.Trace)
		}
	}
}
