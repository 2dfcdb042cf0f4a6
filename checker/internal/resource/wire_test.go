package resource

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/locklab/locklab/history"
)

func TestWhatAnUpdateReadByTheWire(t *testing.T) {
	get := func(reply string) history.Command {
		return history.Command{Args: []string{"GET", "counter"}, Reply: reply}
	}
	set := func(value, reply string) history.Command {
		return history.Command{Args: []string{"SET", "counter", value}, Reply: reply}
	}
	said := &history.Detail{Read: 4, Wrote: 5}
	for name, c := range map[string]struct {
		commands []history.Command
		said     *history.Detail
		read     int64
		known    bool
	}{
		"read and written":            {[]history.Command{get("nil"), set("1", "OK")}, nil, 0, true},
		"the client says otherwise":   {[]history.Command{get("7"), set("8", "OK")}, said, 7, true},
		"read before":                 {[]history.Command{set("8", "OK")}, said, 7, true},
		"read again afterwards":       {[]history.Command{get("7"), set("8", "OK"), get("9")}, nil, 7, true},
		"tried again":                 {[]history.Command{get("7"), set("8", "nil"), get("8"), set("9", "OK")}, nil, 8, true},
		"in one command":              {[]history.Command{{Args: []string{"incr", "counter"}, Reply: "3"}}, nil, 2, true},
		"in a way unknown here":       {[]history.Command{{Args: []string{"EVAL", "…"}, Reply: "1"}}, said, 4, true},
		"in a way nobody knows":       {[]history.Command{{Args: []string{"EVAL", "…"}, Reply: "1"}}, nil, 0, false},
		"not one more":                {[]history.Command{get("7"), set("9", "OK")}, nil, 7, false},
		"read only":                   {[]history.Command{get("4")}, said, 0, false},
		"refused":                     {[]history.Command{get("4"), set("5", "-READONLY")}, said, 0, false},
		"the connection ended":        {[]history.Command{get("4"), set("5", "")}, said, 0, false},
		"nothing, and nobody says so": {nil, said, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			var w Wire
			for n := range c.commands {
				w.note(&c.commands[n])
			}
			read, known := w.read(&history.Event{Detail: c.said}, true)
			assert.Equal(t, c.known, known)
			if known {
				assert.Equal(t, c.read, read)
			}
		})
	}
	read, known := new(Wire).read(&history.Event{Detail: said}, false)
	assert.True(t, known, "a history without commands")
	assert.Equal(t, int64(4), read)
}
