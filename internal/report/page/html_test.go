package page

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/diagram"
	"github.com/locklab/locklab/internal/report/reporttest"
)

func TestHTMLNeedsNothingElse(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, HTML(&b, reporttest.SampleRun(), reporttest.ReadBy(reporttest.SampleHistory), Beside{}))
	page := b.String()
	require.Equal(t, []string{"http://www.w3.org/2000/svg"}, regexp.MustCompile(`https?://[^"\s]+`).FindAllString(strings.ReplaceAll(page, "';", `"`), -1), "an SVG's name space")
	require.NotRegexp(t, `\ssrc=|@import|url\([^#]`, page)
	for _, link := range regexp.MustCompile(`href="#/([^/"?]+)/([^"?]+)`).FindAllStringSubmatch(page, -1) {
		require.Contains(t, reporttest.InPage(t, page, "index"), `"name":"`+link[1]+`"`)
		require.Contains(t, reporttest.InPage(t, page, "index"), `"name":"`+link[2]+`"`)
	}
	ids := make(map[string]bool)
	for _, id := range regexp.MustCompile(`\sid="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		require.False(t, ids[id[1]], "id %s twice", id[1])
		ids[id[1]] = true
	}
	require.Contains(t, reporttest.InPage(t, page, "cells-0"), "history.jsonl:1: not a history")
}

func TestHTMLWithoutHistories(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, HTML(&b, reporttest.SampleRun(), nil, Beside{}))
	require.Contains(t, reporttest.InPage(t, b.String(), "cells-0"), "The history was not kept.")
}

func TestLongHistoriesAreCut(t *testing.T) {
	events, cell := reporttest.LongHistory(20_000)
	last := cell.Verdict.Anomalies[0].Events[1]
	var page bytes.Buffer
	run := &record.Run{Cells: []record.Cell{cell}}
	require.NoError(t, HTML(&page, run, reporttest.ReadBy(func(record.Cell) ([]history.Event, error) { return events, nil }), Beside{}))
	require.Less(t, page.Len(), 200_000)
	kept := diagram.Of(events).Kept(cell, maxEvents)
	shown := slices.DeleteFunc(slices.Clone(kept), func(kept bool) bool { return !kept })
	require.Len(t, shown, maxEvents)
	require.True(t, kept[last], "what shows the anomaly is kept")
	require.Contains(t, reporttest.InPage(t, page.String(), "cells-0"), `"DEL"`)
}

func TestVariantsAreMarkedInThePage(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, HTML(&out, reporttest.RunOfVariants(), reporttest.ReadBy(func(record.Cell) ([]history.Event, error) { return nil, nil }), Beside{}))
	var index pageIndex
	require.NoError(t, json.Unmarshal([]byte(reporttest.InPage(t, out.String(), "index")), &index))
	for _, lock := range index.Locks {
		assert.Equal(t, lock.Name == "getset/once", lock.Apart, lock.Name)
	}
}
