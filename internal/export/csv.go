package export

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/locklab/locklab/history"
)

// columns are the columns of the table. Times are in nanoseconds.
func columns() []string {
	return []string{
		"event", "at_ns", "kind", "client", "op", "id", "lock", "outcome", "valid_ns", "fence", "gave_up", "read", "wrote",
		"server", "conn", "command", "reply", "sent_ns", "late", "again", "reply_dropped", "effect",
		"fault", "target", "phase", "line", "error", "text",
	}
}

// writeCSV writes a row for each event. A command's arguments are a JSON array.
func writeCSV(w io.Writer, c *Cell) error {
	out := csv.NewWriter(w)
	if err := out.Write(columns()); err != nil {
		return err
	}
	effects := effectsOf(c)
	var room history.Room
	for i := range c.Events {
		row := rowOf(&c.Events[i], c.Events[i].CommandIn(&room))
		row["event"], row["effect"] = strconv.Itoa(i+1), strings.Join(effects[i], " ")
		row["text"] = c.words(i).Text
		cells := make([]string, len(columns()))
		for n, column := range columns() {
			cells[n] = row[column]
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// effectsOf says what commands did to keys, by event.
func effectsOf(c *Cell) map[int][]string {
	effects := map[int][]string{}
	for _, touch := range c.timeline().Touches {
		effects[touch.Event] = append(effects[touch.Event], effectName(touch.Effect))
	}
	return effects
}

func effectName(effect history.Effect) string {
	switch effect {
	case history.EffectCreated:
		return "created"
	case history.EffectRemoved:
		return "removed"
	case history.EffectReplaced:
		return "replaced"
	case history.EffectProlonged:
		return "prolonged"
	case history.EffectShortened:
		return "shortened"
	case history.EffectUnclear:
		return "unclear"
	}
	return "none"
}

// rowOf is an event by column, without what is zero.
func rowOf(e *history.Event, c *history.Command) map[string]string {
	row := map[string]string{
		"at_ns": strconv.FormatInt(int64(e.At), 10), "kind": e.Kind.String(), "client": e.Client, "lock": e.Lock,
		"id": number(e.ID), "valid_ns": number(int64(e.Valid)), "fence": number(e.Fence),
	}
	if e.Op != history.OpNone {
		row["op"] = e.Op.String()
	}
	if e.Outcome != history.OutcomeNone {
		row["outcome"] = e.Outcome.String()
	}
	if c != nil {
		args, _ := json.Marshal(c.Args) // a list of strings has no error
		row["server"], row["conn"], row["command"], row["reply"] = c.Server, number(c.Conn), string(args), c.Reply
		row["sent_ns"], row["late"], row["again"], row["reply_dropped"] = number(int64(c.Sent)), yes(c.Late), yes(c.Again), yes(c.ReplyDropped)
	}
	if d := e.Detail; d != nil {
		row["gave_up"], row["error"], row["line"] = yes(d.GaveUp), d.Error, number(int64(d.Line))
		if e.Op == history.OpWork && e.Kind == history.KindReturn {
			row["read"], row["wrote"] = strconv.FormatInt(d.Read, 10), strconv.FormatInt(d.Wrote, 10)
		}
	}
	if f := e.Fault(); f != nil {
		row["fault"], row["target"], row["phase"] = f.Name, f.Target, string(f.Phase)
	}
	return row
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func yes(is bool) string {
	if is {
		return "true"
	}
	return ""
}
