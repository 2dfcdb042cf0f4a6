package readme

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/impls"
)

// TestStormsPage: docs/tables/storms.md says of every known-broken lock how soon storms caught it, and of every other one what it withstood.
// The figures are measured, and nothing that a test could make anew.
func TestStormsPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/tables/storms.md")
	require.NoError(t, err)
	var told []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (?:\\d+ s \\| |[0-9,]+ \\|$)").FindAllStringSubmatch(string(text), -1) {
		told = append(told, row[1])
	}
	var broken, sound []string
	for _, spec := range impls.Explored() {
		if spec.Bug != "" {
			broken = append(broken, spec.Name)
		} else {
			sound = append(sound, spec.Name)
		}
	}
	assert.Equal(t, append(broken, sound...), told)
}
