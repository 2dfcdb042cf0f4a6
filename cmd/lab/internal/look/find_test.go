package look

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A command is continued as a shell reads it, and says the same.
func TestFoldedCommands(t *testing.T) {
	const long = "lab run surviving-watchdog --lock watchdog-published/blind-renewal+shared-flag+surviving-watchdog,watchdog -v"
	assert.Equal(t, "lab run surviving-watchdog \\\n      --lock watchdog-published/blind-renewal+shared-flag+surviving-watchdog \\\n      --lock watchdog -v", foldCommand(long, 4, 80))
	assert.Equal(t, long, foldCommand(long, 4, 120))
	assert.Equal(t, "lab run a --lock b,c -v", foldCommand("lab run a --lock b,c -v", 4, 80))
}
