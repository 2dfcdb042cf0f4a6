package checker

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/history"
)

// A precondition that failed says what the client, or the server, said in the operation that it is about.
func TestReasonsHaveTheServersWords(t *testing.T) {
	const full = "-OOM command not allowed when used memory > 'maxmemory'."
	call := func(id int64, client string) history.Event {
		return history.Event{Kind: history.KindCall, Client: client, Lock: "lock", Op: history.OpAcquire, ID: id}
	}
	command := func(id int64, client, reply string) history.Event {
		return history.Event{Kind: history.KindCommand, Client: client, Lock: "lock", Op: history.OpAcquire, ID: id, Detail: &history.Detail{
			Command: &history.Command{Server: "redis", Args: []string{"SET", "lock"}, Reply: reply},
		}}
	}
	answer := func(id int64, client string, d *history.Detail) history.Event {
		return history.Event{Kind: history.KindReturn, Client: client, Lock: "lock", Op: history.OpAcquire, ID: id, Outcome: history.No, Detail: d}
	}
	step := history.Event{Kind: history.KindStep, Client: "C1", Detail: &history.Detail{Line: 4, Text: "C1 acquire => ok"}}
	end := history.Event{Kind: history.KindEnd, Detail: &history.Detail{Text: history.EndedPremise, Why: "why"}}
	for name, test := range map[string]struct {
		events []history.Event
		want   string
	}{
		"the client says it": {[]history.Event{step, call(1, "C1"), answer(1, "C1", &history.Detail{Error: "NOPERM no"})},
			"why; C1's acquire was answered no: NOPERM no"},
		"the client says nothing": {[]history.Event{step, call(1, "C1"), command(1, "C1", full), answer(1, "C1", nil)},
			"why; C1's acquire was answered no: SET: " + full[1:]},
		"it was told to give up": {[]history.Event{step, call(1, "C1"), command(1, "C1", "-READONLY no"), answer(1, "C1", &history.Detail{Error: "cancelled", GaveUp: true})},
			"why; C1's acquire was answered no: SET: READONLY no"},
		"the last of several": {[]history.Event{step, call(1, "C1"), command(1, "C1", full), command(1, "C1", "-NOAUTH no"), answer(1, "C1", nil)},
			"why; C1's acquire was answered no: SET: NOAUTH no"},
		"an error that its client answers": {[]history.Event{step, call(1, "C1"), command(1, "C1", "-NOSCRIPT no"), answer(1, "C1", nil)}, "why"},
		"a number below zero":              {[]history.Event{step, call(1, "C1"), command(1, "C1", "-2"), answer(1, "C1", nil)}, "why"},
		"of another operation":             {[]history.Event{call(1, "C1"), command(1, "C1", full), answer(1, "C1", nil), step, call(2, "C1"), answer(2, "C1", nil)}, "why"},
		"of another client":                {[]history.Event{step, call(1, "C2"), command(1, "C2", full), answer(1, "C2", nil)}, "why"},
		"of any, for a step of no client":  {[]history.Event{call(1, "C1"), answer(1, "C1", &history.Detail{Error: "NOPERM no"}), {Kind: history.KindStep}}, "why; C1's acquire was answered no: NOPERM no"},
		"none":                             {[]history.Event{step, call(1, "C1"), answer(1, "C1", nil)}, "why"},
		"said already":                     {[]history.Event{step}, "why"},
	} {
		t.Run(name, func(t *testing.T) {
			events := append(test.events, end)
			assert.Equal(t, test.want, Conclude(events, Options{Twice: true}).Reason)
		})
	}
	refused := []history.Event{step, call(1, "C1"), command(1, "C1", full), answer(1, "C1", nil), {
		Kind: history.KindEnd, Detail: &history.Detail{Text: history.EndedNA, Why: "C1's acquire returned no without a GET"},
	}}
	assert.Equal(t, "n/a: C1's acquire returned no without a GET; C1's acquire was answered no: SET: "+full[1:], Conclude(refused, Options{}).String())
}
