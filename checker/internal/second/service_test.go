package second

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker/internal/overlap"
)

// Each case can be decided only by looking for an order: the one in which the answers are listed is another one.
func TestServiceModelSearches(t *testing.T) {
	type step struct {
		what       serviceInput
		call, done int64
	}
	cases := map[string]struct {
		steps []step
		want  porcupine.CheckResult
	}{
		"refused before the lock ends":             {[]step{{serviceEnds, 2, 9}, {serviceRefuses, 4, 8}}, porcupine.Ok},
		"refused after its latest end":             {[]step{{serviceEnds, 2, 5}, {serviceRefuses, 6, 8}}, porcupine.Illegal},
		"refused after the end, before the next":   {[]step{{serviceChanges, 7, 7}, {serviceEnds, 2, 3}, {serviceRefuses, 4, 6}}, porcupine.Illegal},
		"refused after the end, while another has": {[]step{{serviceRefuses, 4, 9}, {serviceEnds, 2, 3}, {serviceChanges, 5, 8}}, porcupine.Ok},
		"denied before its earliest end":           {[]step{{serviceChanges, 9, overlap.Open}, {serviceDenies, 4, 8}}, porcupine.Illegal},
		"denied when it may have ended":            {[]step{{serviceDenies, 4, 8}, {serviceChanges, 7, overlap.Open}}, porcupine.Ok},
		"refused and denied, in this order":        {[]step{{serviceDenies, 2, 9}, {serviceEnds, 2, 9}, {serviceRefuses, 2, 9}}, porcupine.Ok},
		"denied and then refused":                  {[]step{{serviceDenies, 2, 3}, {serviceEnds, 2, 9}, {serviceRefuses, 4, 9}}, porcupine.Illegal},
	}
	for name, c := range cases {
		var o observation
		for _, s := range c.steps {
			o.add(s.what, s.call, s.done)
		}
		for w := range serviceWindows([]observation{o}) {
			assert.Equal(t, c.want, overlap.Judge{Timeout: time.Minute, Searches: true}.Window(w), name)
			assert.False(t, w.LegalAsListed(), name)
		}
	}
}
