// Command picture draws the animation at the top of the README from a run of the tour in the model: what the terminal shows, then one race of that
// run in lanes.
//
// It owns the form of the picture. It must not know how a cell is played or judged: all that it shows comes from the run.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/record"
	"github.com/locklab/locklab/internal/report/diagram"
	"github.com/locklab/locklab/internal/report/screen"
	"github.com/locklab/locklab/internal/report/terminal"
)

func main() {
	out := flag.String("o", "", "write the picture to this file instead of stdout")
	flag.Parse()
	if err := write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func write(out string) error {
	shown, err := tour(context.Background(), nil)
	if err != nil {
		return err
	}
	text := draw(shown)
	if out == "" {
		_, err = os.Stdout.WriteString(text)
		return err
	}
	return os.WriteFile(out, []byte(text), 0o644)
}

// command is what a user calls to see what the picture shows.
const command = "go run ./cmd/lab run --world sim"

// shown is what of a run the picture shows.
type shown struct {
	screen    string // what the terminal shows, with its colours
	situation string // how the screen calls the cell's scenario
	cell      record.Cell
	events    []history.Event
}

// tour runs the tour in the model. took is how long it takes; nil: by the clock.
func tour(ctx context.Context, took func() time.Duration) (*shown, error) {
	cases, situations, err := lab.Tour()
	if err != nil {
		return nil, err
	}
	s := &shown{}
	var shown bytes.Buffer
	sink := screen.NewTour(&shown, &bytes.Buffer{}, terminal.Options{Color: true, Since: took}, screen.Tour{
		Setting: "in the model", Situations: situations, Race: lab.TourRace,
		Read: func(*record.Run, record.Cell) ([]history.Event, error) { return s.events, nil },
	})
	var mu sync.Mutex
	played := func(c record.Cell, events []history.Event) {
		mu.Lock()
		defer mu.Unlock()
		if c.Lock+"/"+c.Scenario == lab.TourRace {
			s.cell, s.events = c, events
		}
	}
	if _, err := lab.Run(ctx, lab.Plan{Cases: cases, Options: lab.Options{Setting: lab.Setting{World: lab.Sim}, Sink: sink, Played: played}}); err != nil {
		return nil, err
	}
	if len(diagram.Beats(s.cell, s.events)) == 0 {
		return nil, errors.New(lab.TourRace + " is not broken: there is no race to draw")
	}
	s.screen, s.situation = shown.String(), situations[s.cell.Scenario]
	return s, nil
}
