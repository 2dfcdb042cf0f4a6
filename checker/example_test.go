package checker_test

import (
	"fmt"
	"time"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/history"
)

// twoHolders is a history in which two clients are granted a lock for ten seconds, one millisecond after the other.
func twoHolders() []history.Event {
	const ms = time.Millisecond
	var events []history.Event
	for _, client := range []string{"C1", "C2"} {
		events = append(events, history.Event{Kind: history.KindOpen, Client: client, Lock: "k", Detail: &history.Detail{Lease: 10 * time.Second, Unseen: history.Opaque}})
	}
	for i, client := range []string{"C1", "C2"} {
		id, at := int64(i+1), time.Duration(i+1)*10*ms
		events = append(events,
			history.Event{At: at, Kind: history.KindCall, Client: client, Lock: "k", Op: history.OpAcquire, ID: id},
			history.Event{At: at + ms, Kind: history.KindReturn, Client: client, Lock: "k", Op: history.OpAcquire, ID: id, Outcome: history.OK})
	}
	return events
}

// The verdict of a history.
func ExampleJudge() {
	verdict := checker.Judge(twoHolders(), checker.Options{})
	fmt.Println(verdict)
	for _, anomaly := range verdict.Anomalies {
		fmt.Println(anomaly.Why)
	}
	// Output:
	// double-holder
	// C2 acquired the lock at 0.021s, while C1 held it (since 0.011s).
}

// Conclude also asks whether the history says enough: here nobody knows how it ended.
func ExampleConclude() {
	events := twoHolders()
	fmt.Println(checker.Conclude(events, checker.Options{}))
	events = append(events, history.Event{At: time.Second, Kind: history.KindEnd, Detail: &history.Detail{Text: history.EndedComplete}})
	fmt.Println(checker.Conclude(events, checker.Options{}))
	// Output:
	// unknown: interrupted: the history breaks off
	// double-holder
}

// What the anomalies mean.
func ExampleDefinitions() {
	for _, d := range checker.Definitions()[:3] {
		fmt.Printf("%s: %s\n", d.Name, d.Meaning)
	}
	// Output:
	// double-holder: two clients held the lock at the same time
	// early-grant: the service granted the lock before the holder's lease had ended
	// wrongful-delete: a client's command removed another client's lock
}

// Two verdicts are the same if they name the same anomalies, whatever their words.
func ExampleVerdict_Same() {
	seen := checker.Judge(twoHolders(), checker.Options{})
	wanted := checker.Verdict{Kind: checker.Broken, Anomalies: []checker.Anomaly{{Name: checker.DoubleHolder}}}
	fmt.Println(seen.Same(wanted))
	// Output:
	// true
}
