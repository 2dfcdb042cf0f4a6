package history_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/history"
)

// TestFailed: only an error is one; a script may answer with a negative number.
func TestFailed(t *testing.T) {
	for reply, want := range map[string]bool{"-ERR no": true, "-NOSCRIPT": true, "-1198": false, "-1": false, "-": false, "": false, "1": false, "OK": false} {
		assert.Equal(t, want, (&history.Command{Reply: reply}).Failed(), reply)
	}
}
