package web

import "io"

// Runs is the page of all runs, which a server shows: what was run, what can be run, and what is being run. Its script talks to that server.
type Runs struct {
	Where     string // the directory of the runs
	Rows      []Row
	Scenarios []Choice
	Locks     []Choice
	Lengths   []string // of a storm
	Running   bool
}

// Row is a run in the list of all.
type Row struct {
	ID, Link, Started, Command, World, Counts string
	Class, Status                             string
	Trouble                                   string // why it cannot be shown; empty: it can
}

// Choice is a name that can be chosen, and what it stands for.
type Choice struct{ Name, Title string }

// WriteRuns writes the page of all runs.
func WriteRuns(w io.Writer, page *Runs) error {
	return parts{"runs.html", []string{"page.css", "runs.css"}, []string{"10-*.js", "15-*.js", "runs.js"}}.write(w, page)
}
