package second

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/checker/internal/overlap"
)

// Whether the second was behind the first is not in the order in which the two are listed.
func TestQueueModelSearches(t *testing.T) {
	type step struct {
		what       queueInput
		call, done int64
	}
	cases := map[string]struct {
		steps []step
		want  porcupine.CheckResult
	}{
		"one after the other":      {[]step{{queueFirst, 2, 4}, {queueSecond, 6, 9}, {queueGrant, 10, 10}}, porcupine.Illegal},
		"at the same time":         {[]step{{queueFirst, 2, 8}, {queueSecond, 6, 9}, {queueGrant, 10, 10}}, porcupine.Ok},
		"the first may have left":  {[]step{{queueFirst, 2, 4}, {queueSecond, 6, 9}, {queueGrant, 10, 10}, {queueLeft, 8, overlap.Open}}, porcupine.Ok},
		"the first leaves later":   {[]step{{queueFirst, 2, 4}, {queueSecond, 6, 9}, {queueGrant, 10, 10}, {queueLeft, 11, overlap.Open}}, porcupine.Illegal},
		"the second came earlier":  {[]step{{queueFirst, 6, 9}, {queueSecond, 2, 4}, {queueGrant, 10, 10}}, porcupine.Ok},
		"the second had not asked": {[]step{{queueFirst, 2, 4}, {queueSecond, 12, 14}, {queueGrant, 10, 10}}, porcupine.Illegal},
	}
	for name, c := range cases {
		var operations []porcupine.Operation
		for _, s := range c.steps {
			operations = append(operations, porcupine.Operation{Input: s.what, Call: s.call, Return: s.done})
		}
		for w := range queueWindows([][]porcupine.Operation{operations}) {
			assert.Equal(t, c.want, overlap.Judge{Timeout: time.Minute, Searches: true}.Window(w), name)
			assert.False(t, name != "the second came earlier" && w.LegalAsListed(), name)
		}
	}
}
