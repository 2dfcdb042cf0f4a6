package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/locklab/locklab/internal/report"
)

// live is a run that was started here, as those who watch it are told of it: the lines of lab run --json, those about storms that go on, and one at its end.
type live struct {
	stop context.CancelCauseFunc
	json report.Sink // writes lines
	job  *Job

	mu    sync.Mutex
	lines [][]byte
	more  chan struct{} // closed when there are more lines
	ended bool
}

var (
	errBusy    = errors.New("another run goes on; wait for its end, or stop it")
	errClosed  = errors.New("the lab is ending")
	errStopped = errors.New("stopped by a browser")
)

func newLive(job *Job, stop context.CancelCauseFunc) *live {
	l := &live{stop: stop, job: job, more: make(chan struct{})}
	l.json = report.NewJSON(l)
	return l
}

// Write takes a line.
func (l *live) Write(line []byte) (int, error) {
	l.add(bytes.Clone(line), false)
	return len(line), nil
}

func (l *live) add(line []byte, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines, l.ended = append(l.lines, bytes.TrimSpace(line)), last
	close(l.more)
	l.more = make(chan struct{})
}

// from is what there is from a line on, and what is closed when there is more.
func (l *live) from(n int) (lines [][]byte, more <-chan struct{}, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines[n:], l.more, l.ended
}

// goesOn is the line about a storm that goes on, which lab run --json has not.
type goesOn struct {
	Event      report.Kind   `json:"event"`
	Lock       string        `json:"lock"`
	Scenario   string        `json:"scenario"`
	Done       int           `json:"done"`
	Total      int           `json:"total"`
	Took       time.Duration `json:"took_ns"`
	For        time.Duration `json:"for_ns"`
	Operations int           `json:"operations"`
}

// end is the last line.
type end struct {
	Event   string `json:"event"`
	Page    string `json:"page,omitempty"`
	Stopped bool   `json:"stopped,omitempty"` // by somebody who watched it
	Error   string `json:"error,omitempty"`
}

// Handle takes an event of the run.
func (l *live) Handle(e report.Event) error {
	if e.Kind != report.StormGoesOn {
		return l.json.Handle(e)
	}
	return l.put(goesOn{e.Kind, e.Cell.Lock, e.Cell.Scenario, e.Done, e.Total, e.Cell.Took, l.job.For, e.Cell.Storm.Operations}, false)
}

func (l *live) put(v any, last bool) error {
	line, err := json.Marshal(v)
	if err == nil {
		l.add(line, last)
	}
	return err
}

// begin starts a job, unless another goes on. It ends with ctx at the latest.
func (s *Server) begin(ctx context.Context, job *Job) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || ctx.Err() != nil:
		return errClosed
	case s.live != nil && !s.live.over():
		return errBusy
	}
	ctx, stop := context.WithCancelCause(ctx)
	l := newLive(job, stop)
	s.live = l
	s.running.Go(func() {
		defer stop(nil)
		last := end{Event: "end"}
		switch err := job.Run(ctx, l); {
		case errors.Is(err, errStopped):
			last.Stopped = true
		case err != nil:
			last.Error = err.Error()
		}
		if b, ok := s.shelf.add(job.Dir); ok {
			last.Page = b.link()
		}
		_ = l.put(last, true) // a struct of strings
	})
	return nil
}

func (l *live) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

func (s *Server) isRunning() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live != nil && !s.live.over()
}

// close starts no more, and waits for the end of what was started.
func (s *Server) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
}

// stop ends the run that goes on.
func (s *Server) stop(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live != nil {
		s.live.stop(errStopped)
	}
	w.WriteHeader(http.StatusAccepted)
}

// events streams the lines of the run that goes on, or did last, from its beginning to its end.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	l := s.live
	s.mu.Unlock()
	if l == nil {
		w.WriteHeader(http.StatusNoContent) // a browser then does not ask again
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	for n := 0; ; {
		lines, more, ended := l.from(n)
		for _, line := range lines {
			if _, err := fmt.Fprintf(w, "data: %s\n\n", line); err != nil {
				return // nobody watches any more
			}
		}
		n += len(lines)
		if flush.Flush() != nil || ended {
			return
		}
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
	}
}
