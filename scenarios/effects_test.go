package scenarios

import (
	"slices"
	"testing"

	"github.com/locklab/locklab/faults"

	"github.com/stretchr/testify/assert"
)

func TestWaits(t *testing.T) {
	waits := map[string]bool{
		"wait until expired":               true,
		"wait until freed":                 true,
		"wait until renewed":               true,
		"C1 waits":                         true,
		"C1 waits until lost":              true,
		"C1 takes in the reply":            false,
		"server clock jumps 1s":            false,
		"C1 await":                         true,
		"C1 acquire":                       false,
		"C1 acquire within 3 leases":       true,
		"C1 release hold before first DEL": false,
		"C1 release drop reply of first removal, hold before second removal": true,
		"C1 continue": false,
		"C1 pause":    false,
	}
	p := &parser{script: &Script{Clients: []string{"C1"}}}
	for text, want := range waits {
		step, err := p.step(line{text: text})
		assert.NoError(t, err)
		assert.Equal(t, want, step.Waits(), text)
	}
}

// TestFaultsOfSteps: the words by which the catalogue says that a fault begins are a verb's, except for breakpoints.
func TestFaultsOfSteps(t *testing.T) {
	begun := map[faults.Kind]bool{}
	for _, p := range slices.Concat(phrases(), labPhrases(), serverPhrases()) {
		if fault, ok := (Step{Verb: p.verb, Op: p.op}).Fault(); ok {
			begun[fault.Kind] = true
		}
	}
	for _, fault := range faults.All() {
		assert.Equal(t, fault.Begins != "" && fault.Target != faults.OnMessage, begun[fault.Kind], fault.Kind)
	}
	_, ok := Step{Verb: VerbResume}.Fault()
	assert.False(t, ok)
}
