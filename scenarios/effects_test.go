package scenarios

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWaits(t *testing.T) {
	waits := map[string]bool{
		"wait until expired":               true,
		"wait until freed":                 true,
		"wait until renewed":               true,
		"C1 waits":                         true,
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
