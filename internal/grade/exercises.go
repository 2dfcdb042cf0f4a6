// Package grade has the exercises: the chapters of the course that a mended lock must survive, and what a run of their scenarios shows.
//
// It owns the chapters, their hints, and what counts as survived. It must not know how a run is made, nor how a grade is laid out.
package grade

import (
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/examples/exercises"
	"github.com/locklab/locklab/scenarios"
)

// Exercise is a broken lock to mend.
type Exercise struct {
	Name  string // also of its directory in examples/exercises
	Title string
	// chapters are those that a mended lock survives; the last one is what the exercise is about.
	chapters []int
}

// Exercises lists the exercises in the order of the course. Each begins with a lock that survives what the exercises before it are about, except for
// the last, which needs no watchdog.
func Exercises() []Exercise {
	return []Exercise{
		{"crash", "the holder crashes, and the lock stays locked for ever", []int{1, 3}},
		{"late-expiry", "the expiry is set by a second command", []int{1, 3, 4}},
		{"plain-del", "the release deletes another client's lock", []int{1, 3, 4, 5}},
		{"check-then-delete", "the token is checked, and then the lock is deleted", []int{1, 3, 4, 5, 6}},
		{"watchdog", "the watchdog goes on after its lock is lost", []int{1, 3, 4, 5, 6, 9}},
		{"fence", "a paused holder writes when its lock is over", []int{1, 3, 4, 5, 6, 10}},
	}
}

// Find is the exercise of that name.
func Find(name string) (Exercise, bool) {
	i := slices.IndexFunc(Exercises(), func(e Exercise) bool { return e.Name == name })
	if i < 0 {
		return Exercise{}, false
	}
	return Exercises()[i], true
}

// Next is the exercise that follows.
func (e Exercise) Next() (Exercise, bool) {
	all := Exercises()
	i := slices.IndexFunc(all, func(other Exercise) bool { return other.Name == e.Name }) + 1
	if i == len(all) {
		return Exercise{}, false
	}
	return all[i], true
}

// Languages are those in which the broken lock is there: the names of kits.
func Languages() []string { return []string{"python", "go"} }

// Task is the text of the task, in Markdown.
func (e Exercise) Task() ([]byte, error) {
	return exercises.Files.ReadFile(path.Join(e.Name, taskFile))
}

const taskFile = "README.md"

// Files are the task and the broken lock in a language, by their names in the reader's directory. The rest of a client is in the kit of the language.
func (e Exercise) Files(language string) (map[string][]byte, error) {
	lock, ok := map[string]string{"go": "main.go", "python": "client.py"}[language]
	if !ok {
		return nil, fmt.Errorf("no exercise in %s", language)
	}
	files := map[string][]byte{}
	for _, name := range []string{taskFile, lock} {
		text, err := exercises.Files.ReadFile(path.Join(e.Name, name))
		if err != nil {
			return nil, err
		}
		files[name] = text
	}
	return files, nil
}

// Scripts are the scenarios that a mended lock survives, each once.
func (e Exercise) Scripts() ([]*scenarios.Script, error) {
	var all []*scenarios.Script
	for _, chapter := range e.Chapters() {
		for _, trial := range chapter.Trials {
			if _, there := scenarios.Find(all, trial.Scenario); there {
				continue
			}
			script, err := script(trial.Scenario)
			if err != nil {
				return nil, err
			}
			all = append(all, script)
		}
	}
	return all, nil
}

// script is a scenario that comes with the lab or with an exercise.
func script(name string) (*scenarios.Script, error) {
	files, err := fs.Glob(exercises.Files, "*/"+name+".lab")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		builtin, err := scenarios.Builtin(name)
		if err != nil {
			return nil, err
		}
		return builtin[0], nil
	}
	text, err := exercises.Files.ReadFile(files[0])
	if err != nil {
		return nil, err
	}
	return scenarios.Parse(path.Base(files[0]), text)
}

// Chapters are those of the course that a mended lock survives.
func (e Exercise) Chapters() []Chapter {
	return slices.DeleteFunc(chapters(), func(c Chapter) bool { return !slices.Contains(e.chapters, c.Number) })
}

// Chapter is a chapter of the course that has a failure of its own.
type Chapter struct {
	Number int
	Title  string
	Trials []Trial
}

// Trial is a scenario in which a lock of the chapter fails.
type Trial struct {
	Scenario string
	// Tolerated are anomalies that the chapter is not about, and that a lock of its time cannot prevent.
	Tolerated []checker.Name
	// OneCommand: a lock whose acquire is a single command survives, because the race cannot happen to it.
	OneCommand bool
	Hint       string
}

// pastLease is what happens to any lock without a watchdog whose holder goes on when the lease is over, and besides what is tolerated of the lock.
func pastLease(besides ...checker.Name) []checker.Name {
	return append(besides, checker.DoubleHolder, checker.StaleWrite, checker.LostUpdate)
}

func chapters() []Chapter {
	return []Chapter{
		{1, "no lock", []Trial{
			{Scenario: "take-turns", Hint: "No fault strikes here. Look at what acquire sends when another client holds the lock: a client that is refused must leave that lock as it is."},
		}},
		{3, "a crash", []Trial{
			{Scenario: "holder-crashes", Hint: "A process that was killed sends nothing any more. Who else can end its lock, and when must the client have asked for that? Can a waiting client delay that end?"},
		}},
		{4, "expiry in a second command", []Trial{
			{Scenario: "crash-between-setnx-and-expire", Hint: "A process can be killed between any two of its commands. Is there a moment at which the lock is there, and has no end?"},
			{Scenario: "expiry-arrives-late", OneCommand: true, Tolerated: pastLease(), Hint: "A slow client looks like a dead one. A command that it was about to send may arrive when the lock is another client's."},
		}},
		{5, "SET NX PX and DEL", []Trial{
			{Scenario: "released-twice", Hint: "At the second release the lock is another client's. What is under the key says whose it is, if each client writes something of its own."},
			{Scenario: "release-after-the-lease", Hint: "A release that finds no lock of its own has nothing to do. It must return, and say no."},
			{Scenario: "work-longer-than-lease", Tolerated: pastLease(checker.WrongfulRenew), Hint: "What a client remembers does not change when its lease ends; what is under the key does. By what can the release tell whose lock it is about to delete?"},
			{Scenario: "cut-off-past-lease", Tolerated: pastLease(checker.WrongfulRenew), Hint: "A release can arrive when the lock is another client's. By what can the server tell whose lock it is about to delete?"},
		}},
		{6, "a token, checked and then deleted", []Trial{
			{Scenario: "stopped-between-check-and-delete", Hint: "Between two commands of a client another one can acquire the lock, and the answer to the first command is no longer true. Who can compare and delete with nothing in between?"},
		}},
		{9, "the watchdog", []Trial{
			{Scenario: "work-longer-than-lease", Hint: "While its holder's process runs, the lock must not end: something has to prolong the lease, well before it is over, again and again."},
			{Scenario: "cut-off-past-lease", Hint: "C1 gets no answer while it is cut off, and its lease ends. By its own clock it can know how long its hold is valid: acquire and each renewal can say so (valid_ms and the notices in docs/protocol.md). And what may a renewal do when the lock is another client's by now?"},
			{Scenario: "renewal-after-release", Hint: "A renewal that was sent before the release can arrive when the next client holds the lock. What has to be true at that moment, and who can look at it with nothing in between?"},
			{Scenario: "release-lost-while-renewing", Hint: "The release never reached the server. Its caller does not need the lock any more. Does the renewal go on?"},
		}},
		{10, "a pause, and fencing", []Trial{
			{Scenario: "pause-past-lease", Tolerated: []checker.Name{checker.DoubleHolder}, Hint: "No lock stops a write that is on its way. The store can refuse it, if it sees that a later holder has written: each grant needs a number that is greater than all before it (fence in docs/protocol.md)."},
			{Scenario: "number-arrives-late", Tolerated: []checker.Name{checker.DoubleHolder}, Hint: "A client can be paused at any moment of its acquire, too. Which of two clients then has the greater number, and which one must have it?"},
			{Scenario: "number-fetched-early", Hint: "Another client held the lock after C1 had asked for its number, and before C1 was granted the lock. At which moment does the number have to be counted?"},
		}},
	}
}
