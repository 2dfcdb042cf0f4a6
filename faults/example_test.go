package faults_test

import (
	"fmt"

	"github.com/locklab/locklab/faults"
)

// A fault by its name.
func ExampleFind() {
	fault, ok := faults.Find("pause")
	fmt.Println(ok, fault.Begins, "…", fault.Ends)
	fmt.Println(fault.Meaning)
	// Output:
	// true pause … resume
	// a client's process is stopped (SIGSTOP) while time passes
}

// The faults that hit a client's clock.
func ExampleAll() {
	for _, fault := range faults.All() {
		if fault.Target == faults.OnClock {
			fmt.Println(fault.Kind)
		}
	}
	// Output:
	// skew
	// clock-ahead
	// clock-behind
	// step-ahead
	// step-back
}

// A breakpoint as scripts write it.
func ExampleBreakpoint() {
	b := faults.Breakpoint{Action: faults.ActHoldRequest, Nth: 1, Match: faults.Match{Kind: faults.MatchCommand, Command: "DEL"}, Server: "S2"}
	fmt.Println(b)
	// Output:
	// hold before first DEL on S2
}
