//go:build js && wasm

// Command wasm is the playground in a page's worker: it answers the messages that the page sends.
//
// It owns the way from JavaScript to package playground. It must not know what a question means.
package main

import (
	"context"
	"syscall/js"
	"time"

	"github.com/locklab/locklab/internal/sim/search"
	"github.com/locklab/locklab/web/internal/playground"
)

func main() {
	self := js.Global()
	questions := make(chan js.Value, 64)
	var stop context.CancelFunc
	self.Set("onmessage", js.FuncOf(func(_ js.Value, args []js.Value) any {
		if data := args[0].Get("data"); data.Get("stop").Truthy() {
			if stop != nil {
				stop()
			}
		} else {
			questions <- data
		}
		return nil
	}))
	lab := playground.New()
	var shown time.Time
	lab.Progress = func(p search.Progress) {
		if time.Since(shown) < pace {
			return
		}
		self.Call("postMessage", map[string]any{"progress": p.States, "faults": p.Faults, "steps": p.Steps})
		time.Sleep(time.Millisecond) // the worker reads its messages, of which one may be to stop
		shown = time.Now()
	}
	self.Call("postMessage", map[string]any{"ready": true})
	for q := range questions {
		var ctx context.Context
		ctx, stop = context.WithCancel(context.Background())
		answer := lab.Ask(ctx, []byte(q.Get("question").String()))
		stop()
		self.Call("postMessage", map[string]any{"id": q.Get("id"), "answer": string(answer)})
	}
}

// pace is how often a search says how far it has come.
const pace = 100 * time.Millisecond
