package readme

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/internal/hostile"
	"github.com/locklab/locklab/scenarios"
)

// TestAttacks holds docs/tables/hostile-clients.md against the list of attacks, each of which a script can name as a client.
func TestAttacks(t *testing.T) {
	var b strings.Builder
	b.WriteString("| client | what it does | what it costs |\n| --- | --- | --- |\n")
	seen := map[string]bool{}
	for _, attack := range hostile.All() {
		_, err := scenarios.Parse("x.lab", fmt.Appendf(nil, "# T.\nlease 1s\nclients %[1]s\n%[1]s acquire\n", attack.Name))
		assert.NoError(t, err)
		assert.False(t, seen[attack.Name], attack.Name)
		seen[attack.Name] = true
		cost := "its cell"
		if regexp.MustCompile(attack.Verdict).MatchString("safe") {
			cost = "nothing"
			if attack.Verdict != "^safe$" {
				cost = "nothing, or its cell"
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", attack.Name, cell(attack.Does), cost)
	}
	assert.GreaterOrEqual(t, len(seen), 20)
	holdPart(t, "../../docs/tables/hostile-clients.md", fromAttacks, b.String())
}
