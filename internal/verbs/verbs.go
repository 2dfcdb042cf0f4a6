// Package verbs has a script for each thing that a step of a scenario can do, and what must come of it in every world. Tests use it.
package verbs

import "maps"

// Test is a script with one thing in it. Leases are long except where a script waits for their end.
type Test struct {
	Lock    string
	Text    string
	Verdict string
	Story   []string // lines of Story that must be told in this order; others may stand between them
}

// Tests are all, by name.
func Tests() map[string]Test {
	all := operations()
	maps.Copy(all, disturbances())
	return all
}
