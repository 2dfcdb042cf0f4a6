package readme

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/adapters"
	"github.com/locklab/locklab/scenarios"
)

// TestTrackRecord: each row names a scenario that exists, has been seen each time, and says what the table of that client says. How often it was seen was
// counted by hand.
func TestTrackRecord(t *testing.T) {
	text, err := os.ReadFile("../../docs/tables/track-record.md")
	require.NoError(t, err)
	builtin, err := scenarios.Builtin()
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\|[^|]*\\|[^|]*\\| (suite|script)[^|]*\\| ([a-z, -]+) \\| 20 of 20 \\| `lab run ([^ ]+) --server [a-z-]+ --client ([^`]+)`").FindAllStringSubmatch(string(text), -1)
	bySuite := 0
	for _, row := range rows {
		found, anomalies, name, client := row[1], row[2], row[3], strings.Trim(row[4], "'")
		script, known := scenarios.Find(builtin, name)
		if found == "script" {
			_, err := os.Stat("../../" + name)
			assert.NoError(t, err)
			continue
		}
		bySuite++
		if !assert.True(t, known, name) {
			continue
		}
		client = strings.Replace(client, "BIN/", "adapters/go/bin/", 1)
		n := slices.IndexFunc(adapters.All(), func(a adapters.Adapter) bool { return strings.HasPrefix(a.Command+" ", client+" ") })
		if !assert.GreaterOrEqual(t, n, 0, client) {
			continue
		}
		a := adapters.All()[n]
		if a.Table == "" {
			a.Table = adapters.Common
		}
		seen, ok := readTable(t, a.Table).seen.Lookup(script.Name, a.Name)
		require.True(t, ok, "%s %s", name, client)
		assert.Equal(t, anomalies, names(seen.Names()), "%s %s", name, client)
	}
	table, _, _ := strings.Cut(string(text), "\n## What goes wrong")
	assert.Equal(t, strings.Count(table, "\n| ")-2, len(rows), "rows that cannot be read")
	assert.Contains(t, string(text), fmt.Sprintf("Of the %d rows %d were found", len(rows), bySuite))
}
