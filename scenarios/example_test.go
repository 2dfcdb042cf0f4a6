package scenarios_test

import (
	"fmt"
	"log"
	"os"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/scenarios"
)

// The scenarios that come with the lab.
func ExampleBuiltin() {
	scripts, err := scenarios.Builtin()
	if err != nil {
		log.Fatal(err)
	}
	for _, script := range scripts[:3] {
		fmt.Printf("%s: %s\n", script.Name, script.Title)
	}
	// Output:
	// take-turns: Three clients take turns.
	// taken-again: The holder acquires its lock again and releases it twice.
	// one-release-too-few: The holder acquires its lock twice and releases it once.
}

// A script is parsed, and each step is there to be read.
func ExampleParse() {
	script, err := scenarios.Parse("race.lab", []byte("# A pause.\nlease 1s\nclients C1 C2\n\nC1 acquire => ok\nC1 pause\nwait until expired\nC2 acquire\nC1 resume\n"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(script.Name, script.Clients, script.Lease)
	for _, step := range script.Steps {
		fmt.Println(step.Line, step.Text)
	}
	// Output:
	// race [C1 C2] 1s
	// 5 C1 acquire => ok
	// 6 C1 pause
	// 7 wait until expired
	// 8 C2 acquire
	// 9 C1 resume
}

// A mistake is named with its line and what to write instead.
func ExampleParse_mistake() {
	_, err := scenarios.Parse("race.lab", []byte("# A typing mistake.\nlease 1s\nclients C1 C2\n\nC1 aquire\n"))
	fmt.Println(err)
	// Output:
	// race.lab:5: unknown verb "aquire"; did you mean "acquire"?
}

// The canonical form of a script.
func ExampleFormat() {
	script, err := scenarios.Parse("race.lab", []byte("# Two lines.\nlease 1s\nclients C1\nC1 acquire=>ok\nC1   release\n"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", scenarios.Format(script))
	// Output:
	// # Two lines.
	// lease    1s
	// clients  C1
	//
	// C1  acquire => ok
	// C1  release
}

// What the lab expects of its own locks was reviewed cell by cell.
func ExampleMatrix_Lookup() {
	matrix, err := scenarios.BuiltinExpected()
	if err != nil {
		log.Fatal(err)
	}
	for _, lock := range []string{"setpx-del", "fenced"} {
		verdict, _ := matrix.Lookup("pause-past-lease", lock)
		fmt.Printf("%s: %s\n", lock, verdict)
	}
	// Output:
	// setpx-del: double-holder, wrongful-delete, stale-write, lost-update
	// fenced: double-holder
}

// A table of expected verdicts for your own lock.
func ExampleMatrix_Write() {
	var matrix scenarios.Matrix
	matrix.Set("take-turns", "mylock", checker.Verdict{Kind: checker.Safe})
	matrix.Set("pause-past-lease", "mylock", checker.Verdict{Kind: checker.Broken, Anomalies: []checker.Anomaly{{Name: checker.StaleWrite}}})
	if err := matrix.Write(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// pause-past-lease   mylock   stale-write
	//
	// take-turns         mylock   safe
}
