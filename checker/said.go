package checker

import (
	"fmt"
	"strings"

	"github.com/locklab/locklab/history"
)

// explained appends to a reason what went wrong in the operation that it is about: the error of its client's answer, else the last error of a server
// to one of its commands. step: the reason is about the step at which the script ended, else about the last operation that met an error.
func explained(why string, events []history.Event, step bool) string {
	said := lastError(events, step)
	if said == "" || strings.Contains(why, said) {
		return why
	}
	return why + "; " + said
}

// lastError is what went wrong in the operation at which a script ended, or in the last in which something did; "" if nothing. A step of no client,
// which waits for what clients have done, is about any.
func lastError(events []history.Event, atStep bool) string {
	client := ""
	for i := len(events) - 1; i >= 0 && atStep; i-- {
		if events[i].Kind == history.KindStep {
			client = events[i].Client
			break
		}
	}
	atStep = atStep && client != ""
	for i := len(events) - 1; i >= 0; i-- {
		e := &events[i]
		if e.Kind != history.KindReturn || atStep && e.Client != client {
			continue
		}
		text := errorIn(events[:i], e)
		if text != "" {
			return fmt.Sprintf("%s's %s was answered %s: %s", e.Client, e.Op, e.Outcome, text)
		}
		if atStep {
			break
		}
	}
	return ""
}

// errorIn is the error of the operation that ends with an event. The words of a server go before those of a client that was told to give up.
func errorIn(before []history.Event, end *history.Event) string {
	text, gaveUp := "", false
	if d := end.Detail; d != nil {
		text, gaveUp = d.Error, d.GaveUp
	}
	if text != "" && !gaveUp {
		return text
	}
	var room history.Room
	for i := len(before) - 1; i >= 0; i-- {
		e := &before[i]
		if e.Client != end.Client || e.ID != end.ID {
			continue
		}
		if e.Kind == history.KindCall {
			break
		}
		if c := e.CommandIn(&room); c != nil && isError(c.Reply) {
			return c.Args[0] + ": " + strings.TrimPrefix(c.Reply, "-")
		}
	}
	return ""
}

// isError says whether a reply, as a history has it, is an error of the server. One that its client answers by itself is none.
func isError(reply string) bool {
	code, is := strings.CutPrefix(reply, "-")
	return is && code != "" && 'A' <= code[0] && code[0] <= 'Z' && !strings.HasPrefix(code, "NOSCRIPT")
}
