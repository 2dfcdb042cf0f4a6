package readme

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// verdictLink is a statement of docs/choose.md: "[setpx-lua: safe](tables/matrix.md#holder-crashes)".
var verdictLink = regexp.MustCompile(`\[([a-z0-9-]+): ([a-z, -]+)\]\(tables/matrix\.md#([a-z0-9-]+)\)`)

// adapterLink is a statement about a lock of an adapter: "[etcd in pause-past-lease: double-holder](../adapters/etcd/expected.txt)".
var adapterLink = regexp.MustCompile(`\[([a-z-]+) in ([a-z-]+): ([a-z, -]+)\]\(\.\./(adapters/[a-z]+/expected\.txt)\)`)

// TestChoices holds each statement of docs/choose.md against the reviewed matrix, or an adapter's. A statement without a link to a verdict or a figure is none.
func TestChoices(t *testing.T) {
	page := pageText(t, "../../docs/choose.md")
	r := readReviewed(t)
	links := verdictLink.FindAllStringSubmatch(strings.Join(strings.Fields(page), " "), -1)
	require.Greater(t, len(links), 30)
	for _, link := range links {
		lock, said, scenario := link[1], link[2], link[3]
		assert.Equal(t, withoutReason(r.verdict(scenario, lock)), said, "%s in %s", lock, scenario)
	}
	adapters := adapterLink.FindAllStringSubmatch(strings.Join(strings.Fields(page), " "), -1)
	require.Greater(t, len(adapters), 10)
	for _, link := range adapters {
		lock, scenario, said, path := link[1], link[2], link[3], link[4]
		expected, found := adapterTable(t, "../../"+path).Lookup(scenario, lock)
		require.True(t, found, "%s has no %s in %s", path, lock, scenario)
		assert.Equal(t, expected.String(), said, "%s in %s", lock, scenario)
	}
	for _, statement := range statements(page) {
		assert.Regexp(t, `\]\(tables/(matrix|bench)\.md#|\]\(\.\./adapters/[a-z]+/expected`, statement, "it cites nothing")
	}
}

// statements are the items and rows of a page.
func statements(page string) (all []string) {
	for _, line := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(line, "- "), strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| ---") && !strings.HasPrefix(line, "| you need"):
			all = append(all, line)
		case strings.HasPrefix(line, "  ") && len(all) > 0:
			all[len(all)-1] += " " + strings.TrimSpace(line)
		}
	}
	return all
}
