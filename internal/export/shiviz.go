package export

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/locklab/locklab/history"
)

// shivizRegexp reads the log. It is the first line of the file; the second would delimit several executions, and is empty.
const shivizRegexp = `(?<host>\S*) (?<clock>{.*})\n(?<event>.*)`

// labHost is the host of what happened to no client and to no server.
const labHost = "lab"

// moment is a line of the log.
type moment struct {
	at    time.Duration
	event int // index
	host  string
	text  string
	// A message: it is sent at one moment, and received at another of the same event.
	sends, receives bool
}

// writeShiViz writes the log. Each command is a message from client to server, and its reply one from server to client, unless it got lost.
func writeShiViz(w io.Writer, c *Cell) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s\n\n", shivizRegexp)
	clocks := map[string]map[string]int{}
	messages := map[int]map[string]int{} // the clock of the message on its way, by event
	for _, m := range momentsOf(c) {
		clock := clocks[m.host]
		if clock == nil {
			clock = map[string]int{}
			clocks[m.host] = clock
		}
		if m.receives {
			for host, n := range messages[m.event] {
				clock[host] = max(clock[host], n)
			}
		}
		clock[m.host]++
		if m.sends {
			messages[m.event] = copied(clock)
		}
		text, err := json.Marshal(clock)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s %s\n%s\n", m.host, text, m.text)
	}
	return out.Flush()
}

func copied(clock map[string]int) map[string]int {
	to := make(map[string]int, len(clock))
	for host, n := range clock {
		to[host] = n
	}
	return to
}

// momentsOf lists what happened at each host, in order.
func momentsOf(c *Cell) (moments []moment) {
	var room history.Room
	for i := range c.Events {
		e := &c.Events[i]
		words := c.words(i)
		command := e.CommandIn(&room)
		if command == nil {
			moments = append(moments, moment{at: e.At, event: i, host: hostOf(words.Lane), text: stamped(e.At, words.Text)})
			continue
		}
		server := moment{at: e.At, event: i, host: hostOf(command.Server), text: stamped(e.At, words.Text)}
		if byClient(e, command) {
			at := sent(e, command)
			moments = append(moments, moment{at: at, event: i, host: hostOf(e.Client), text: stamped(at, "sends "+command.Args[0]), sends: true})
			server.receives = true
		}
		heard := e.Client != "" && command.Reply != "" && !command.ReplyDropped
		server.sends = heard
		moments = append(moments, server)
		if heard {
			moments = append(moments, moment{at: e.At, event: i, host: hostOf(e.Client), text: stamped(e.At, "reply to "+command.Args[0]), receives: true})
		}
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.event, b.event)) })
	return moments
}

func stamped(at time.Duration, text string) string {
	return fmt.Sprintf("%.3fs %s", at.Seconds(), strings.ReplaceAll(text, "\n", " "))
}

// hostOf is a name without blanks, as the expression demands.
func hostOf(name string) string {
	host := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, name)
	return cmp.Or(host, labHost)
}
