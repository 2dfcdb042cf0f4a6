// Package serve shows the runs of a directory in a browser, and has the lab run what is ordered there.
//
// It owns who may ask (guard.go), the list of runs and their pages (runs.go), and the one run that goes on (live.go). It must not know how anything is run:
// a Planner turns what is ordered into a job.
package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/locklab/locklab/internal/report"
	"github.com/locklab/locklab/internal/report/web"
)

// Order is what somebody wants to be run.
type Order struct {
	Kind     string // Scenario or Storm
	Scenario string
	Lock     string // empty: every one
	World    string // of a scenario
	For      string // how long a storm lasts
}

// The kinds of orders.
const (
	Scenario = "scenario"
	Storm    = "storm"
)

// Job is an order that can be carried out.
type Job struct {
	Dir string        // where its results will lie
	For time.Duration // how long each of its storms lasts
	Run func(context.Context, report.Sink) error
}

// Planner finds every mistake in an order before anything is started.
type Planner func(Order) (*Job, error)

// Config says what is shown, and what can be run.
type Config struct {
	Dir       string   // every run in it is shown,
	Named     []string // unless there are names: then only these runs are, and those that are started here
	Scenarios []web.Choice
	Locks     []web.Choice
	Lengths   []string // of storms
	Plan      Planner
}

// Server is what a browser talks to.
type Server struct {
	config   Config
	token    string
	listener net.Listener
	shelf    shelf

	mu      sync.Mutex
	ticket  string         // works like the token, once; empty: it is spent
	closed  bool           // no more is started
	live    *live          // the run that goes on, or did last; nil: there was none
	running sync.WaitGroup // of what was started
}

// Listen returns a server on a port of this machine, which nobody else can reach; port 0: any one.
func Listen(config Config, port int) (*Server, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
	if err != nil {
		return nil, err
	}
	return &Server{config: config, token: newToken(), ticket: newToken(), listener: listener, shelf: shelf{dir: config.Dir, named: slices.Clone(config.Named)}}, nil
}

// URL is where the runs are shown, for those who may see them. It leads to the run, if only one was named.
func (s *Server) URL() string { return s.place() + "?token=" + s.token }

// Once is the same for a program that opens it at once: arguments of programs can be seen by everybody on this machine, so it works once.
func (s *Server) Once() string { return s.place() + "?token=" + s.ticket }

func (s *Server) place() string {
	place := "/"
	if len(s.config.Named) == 1 {
		if books, err := s.shelf.books(); err == nil && len(books) == 1 {
			place = books[0].link()
		}
	}
	return "http://" + s.listener.Addr().String() + place
}

// patience is how long requests that are being answered may take when the server ends.
const patience = 2 * time.Second

// Serve answers until ctx ends. Then it also ends what it has started, and waits for it. The error is the cause of ctx's end.
func (s *Server) Serve(ctx context.Context) error {
	server := &http.Server{
		Handler: s.handler(ctx), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(s.listener) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if server.Shutdown(late) != nil {
		err = errors.Join(err, server.Close())
	}
	s.close()
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// handler answers requests; what they start ends with ctx.
func (s *Server) handler(ctx context.Context) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.all)
	mux.HandleFunc("GET /runs/{run}/{$}", s.page)
	mux.HandleFunc("GET /runs/{run}/{file...}", s.file)
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("POST /start", func(w http.ResponseWriter, r *http.Request) { s.start(ctx, w, r) })
	mux.HandleFunc("POST /stop", s.stop)
	return s.guarded(mux)
}

// all is the page of all runs.
func (s *Server) all(w http.ResponseWriter, r *http.Request) {
	books, err := s.shelf.books()
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	page := &web.Runs{Where: s.config.Dir, Scenarios: s.config.Scenarios, Locks: s.config.Locks, Lengths: s.config.Lengths, Running: s.isRunning()}
	for _, b := range books {
		page.Rows = append(page.Rows, s.shelf.row(b))
	}
	var out bytes.Buffer
	if err := web.WriteRuns(&out, page); err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	writeHTML(w, out.Bytes(), "connect-src 'self'; ")
}

// writeHTML writes a page, which may do what allowed says besides.
func writeHTML(w http.ResponseWriter, page []byte, allowed string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "+allowed+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	_, _ = w.Write(page) // whoever asked may have gone
}

// maxOrder bounds an order in bytes.
const maxOrder = 16 << 10

// start carries an order out.
func (s *Server) start(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	var order Order
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder))
	in.DisallowUnknownFields()
	if err := in.Decode(&order); err != nil {
		refuse(w, http.StatusBadRequest, fmt.Errorf("not an order: %w", err))
		return
	}
	job, err := s.config.Plan(order)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	if err := s.begin(ctx, job); err != nil {
		refuse(w, http.StatusConflict, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// refuse says why a request is not fulfilled.
func refuse(w http.ResponseWriter, code int, err error) {
	http.Error(w, err.Error(), code)
}
