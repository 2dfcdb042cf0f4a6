package scenarios

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
)

// A script keeps the work that it names; any other does what its user chooses, and is no story of its own then.
func TestWorkOfAScript(t *testing.T) {
	const rest = "lease 1s\nclients C1\nC1 acquire\n"
	plain, err := Parse("x.lab", []byte(rest))
	require.NoError(t, err)
	own, err := Parse("x.lab", []byte("workload stock 3\n"+rest))
	require.NoError(t, err)

	assert.Equal(t, history.Counter, plain.Work())
	assert.Same(t, plain, plain.Under(history.Counter))
	lent := plain.Under(history.FlashSale)
	assert.Equal(t, history.FlashSale, lent.Work())
	assert.Equal(t, int64(defaultStock), lent.Stock)
	assert.True(t, lent.WorkloadOverridden)
	assert.NotContains(t, string(Format(lent)), "workload")

	assert.Same(t, own, own.Under(history.Ledger))
	assert.Equal(t, int64(3), own.Stock)
	assert.Contains(t, string(Format(own)), "workload  stock 3\nlease     1s\n")
}
