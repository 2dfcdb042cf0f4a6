package diagram

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/report/reporttest"
)

func TestExplainGolden(t *testing.T) {
	events, cell := reporttest.PastLease()
	var b bytes.Buffer
	require.NoError(t, Explain(&b, cell, events, ExplainOptions{}))
	reporttest.Golden(t, "explain", b.Bytes())
}

func TestLongHistoriesStayReadable(t *testing.T) {
	events, cell := reporttest.LongHistory(20_000)
	last := cell.Verdict.Anomalies[0].Events[1]
	var story bytes.Buffer
	require.NoError(t, Explain(&story, cell, events, ExplainOptions{}))
	require.Less(t, strings.Count(story.String(), "\n"), 1500)
	require.Contains(t, story.String(), "events are left out")
	require.Regexp(t, fmt.Sprintf(`(?m)^!1\S*\s+%d `, last+1), story.String(), "what shows the anomaly is kept")
}
