package readme

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/scenarios"
)

// TestPlaygroundLinks: an address of the playground in a page names locks, scenarios, faults and bounds that exist.
func TestPlaygroundLinks(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	links := 0
	for _, page := range pages {
		for _, m := range regexp.MustCompile("#(play|walk)\\?([^`\\s]+)").FindAllStringSubmatch(pageText(t, page), -1) {
			if strings.Contains(m[2], "SCENARIO") {
				continue // the form of a link
			}
			links++
			q, err := url.ParseQuery(m[2])
			require.NoError(t, err, m[0])
			for key, values := range q {
				known := map[string]func(string) bool{
					"lock":     func(v string) bool { _, ok := impls.Find(v); return ok },
					"beside":   func(v string) bool { _, ok := impls.Find(v); return ok },
					"scenario": func(v string) bool { _, ok := scenarios.Find(scripts, v); return ok && m[1] == "play" },
					"faults":   func(v string) bool { _, ok := faults.Find(v); return ok && m[1] == "walk" },
					"clients":  isNumber, "rounds": isNumber, "most": isNumber,
				}[key]
				if assert.NotNil(t, known, "%s: %s has no %q", page, m[0], key) {
					assert.True(t, known(values[0]), "%s: %s: %s", page, m[0], key)
				}
			}
		}
	}
	assert.Greater(t, links, 4)
}

func isNumber(v string) bool { _, err := strconv.Atoi(v); return err == nil }
