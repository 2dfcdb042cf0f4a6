package lab_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/listing/golang"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/page"
	"github.com/locklab/locklab/scenarios"
)

// BenchmarkPage runs the whole suite in the model, without its page and with it: that is to take a second more at most, for at most 6 MB.
func BenchmarkPage(b *testing.B) {
	scripts, err := scenarios.Builtin()
	require.NoError(b, err)
	cases := lab.Cases(scripts, lab.Subjects(impls.Every()...), 1, lab.Expect(nil))
	var planned []record.Cell
	for _, c := range cases {
		planned = append(planned, c.Planned())
	}
	var without, with time.Duration
	var written bytes.Buffer
	for b.Loop() {
		began := time.Now()
		_, err := lab.Run(b.Context(), inSim(cases))
		require.NoError(b, err)
		without += time.Since(began)

		began = time.Now()
		written.Reset()
		sources, err := golang.Read()
		require.NoError(b, err)
		out := page.New(planned, page.Beside{Sources: sources})
		plan := inSim(cases)
		plan.Played = func(c record.Cell, events []history.Event) { out.Add(c, events, nil) }
		run, err := lab.Run(b.Context(), plan)
		require.NoError(b, err)
		require.NoError(b, out.Write(&written, run, lab.HistoriesOf(run)))
		with += time.Since(began)
	}
	b.ReportMetric((with-without).Seconds()/float64(b.N), "s-beyond/op")
	b.ReportMetric(with.Seconds()/without.Seconds(), "with/without")
	b.ReportMetric(float64(written.Len())/1e6, "MB")
}
