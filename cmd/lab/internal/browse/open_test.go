package browse

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOpeners(t *testing.T) {
	for system, want := range map[string]string{"darwin": "open", "windows": "rundll32", "linux": "xdg-open", "freebsd": "xdg-open"} {
		assert.Equal(t, want, opener(system)[0])
	}
}
