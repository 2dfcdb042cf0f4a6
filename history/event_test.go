package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestWhatAnEventRecords(t *testing.T) {
	command, fault := &Command{Server: Resource}, &Fault{Name: "pause"}
	both := &Detail{Command: command, Fault: fault}
	for name, c := range map[string]struct {
		event   Event
		command *Command
		fault   *Fault
	}{
		"a command":         {Event{Kind: KindCommand, Detail: both}, command, nil},
		"a fault":           {Event{Kind: KindFault, Detail: both}, nil, fault},
		"something else":    {Event{Kind: KindStep, Detail: both}, nil, nil},
		"a command, unsaid": {Event{Kind: KindCommand}, nil, nil},
		"a fault, unsaid":   {Event{Kind: KindFault}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.command, c.event.Command())
			assert.Equal(t, c.fault, c.event.Fault())
		})
	}
}

func TestAnswersAsEvents(t *testing.T) {
	plain := Event{Kind: KindReturn, Client: "C1", Lock: "k", Op: OpAcquire, ID: 7, Outcome: OK}
	with := func(change func(*Event)) Event {
		e := plain
		change(&e)
		return e
	}
	for name, c := range map[string]struct {
		answer Answer
		gaveUp bool
		want   Event
	}{
		"ok":        {Answer{Outcome: OK}, false, plain},
		"fenced":    {Answer{Outcome: OK, Fence: 3}, false, with(func(e *Event) { e.Fence = 3 })},
		"limited":   {Answer{Outcome: OK, Limited: true, Valid: time.Second}, false, with(func(e *Event) { e.Valid = time.Second })},
		"over":      {Answer{Outcome: OK, Limited: true, Valid: -time.Second}, false, with(func(e *Event) { e.Valid = ValidityExpired })},
		"unlimited": {Answer{Outcome: OK, Valid: time.Second}, false, plain},
		"gave up":   {Answer{Outcome: OK}, true, with(func(e *Event) { e.Detail = &Detail{GaveUp: true} })},
		"worked": {Answer{Outcome: OK, Counted: true, Read: 3, Wrote: 4, Error: "late"}, false, with(func(e *Event) {
			e.Detail = &Detail{Read: 3, Wrote: 4, Error: "late"}
		})},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, c.answer.Returned("C1", "k", OpAcquire, 7, c.gaveUp))
		})
	}
}

func TestFindData(t *testing.T) {
	var nothing *Work
	assert.Nil(t, nothing.Find("stock"))
	work := &Work{Data: []Datum{{"stock", []string{"1"}}, {"stock", []string{"2"}}, {Name: "none"}}}
	assert.Equal(t, []string{"1"}, work.Find("stock"))
	assert.Nil(t, work.Find("none"))
	assert.Nil(t, work.Find("money"))
}

func TestPartsOfNames(t *testing.T) {
	for name, want := range map[string][3]string{
		"C1": {"C1", "a", "1"}, "C1.b": {"C1", "b", "1"}, "C5-3.c": {"C5-3", "c", "1"}, "C1/2": {"C1", "a", "2"}, "C1.b/12": {"C1", "b", "12"},
	} {
		assert.Equal(t, want, [3]string{ProcessOf(name), ObjectOf(name), ThreadOf(name)}, name)
	}
}
