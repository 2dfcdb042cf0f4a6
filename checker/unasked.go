package checker

import (
	"fmt"
	"strings"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/timeline"
	"github.com/locklab/locklab/internal/timeline/ownership"
)

// unasked says why a history in which nothing bad was seen does not show that the lock is safe: commands reached the lock around
// which the server was not asked, and which may have changed it. It is "" if there are none.
func unasked(events []history.Event) string {
	locks := make(map[string]bool)
	n := 0
	var room history.Room
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case history.KindOpen, history.KindCall:
			locks[e.Lock] = true
		case history.KindCommand:
			if !locks[e.Lock] {
				continue
			}
			if c := e.CommandIn(&room); c != nil && mattersUnasked(c) {
				n++
			}
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "there was no state probe around one command, so only the clients' results could be judged"
	}
	return fmt.Sprintf("there was no state probe around %d commands, so only the clients' results could be judged", n)
}

// mattersUnasked says whether a command may have changed the lock without anybody knowing. MULTI only queues a command: what it
// does is told with EXEC. A script that the server does not know has done nothing, nor has a command that was refused or sent to another node; but a script that
// ended with an error may have.
func mattersUnasked(c *history.Command) bool {
	switch {
	case c.Server == history.Resource || c.Server == history.OldPrimary || len(c.Changes) > 0 || len(c.Args) == 0:
		return false
	case timeline.ReadsOnly(c.Args[0]) || c.Redirected() || c.Reply == "QUEUED" || strings.HasPrefix(c.Reply, "-NOSCRIPT"):
		return false
	}
	return !c.Failed() || ownership.RunsScript(c.Args[0])
}
