// Package worker is a client process of the lab: it runs locks against a real Redis, through go-redis, by requests on standard input.
// Package protocol defines the requests.
//
// It owns the Env of the live world. It must not know scripts, faults or histories.
package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// Main is Run in a process of its own. It uses one processor: dozens of clients run concurrently and are mostly idle, so that waking a
// second processor costs more than it gains.
func Main(ctx context.Context, specs []impls.Spec) error {
	runtime.GOMAXPROCS(1)
	return Run(ctx, os.Stdin, os.Stdout, specs)
}

// Program is Main of a program with a lock of its own, as lab run --client starts it: its hello says what the lock's card says.
func Program(ctx context.Context, spec impls.Spec) error {
	runtime.GOMAXPROCS(1)
	return run(ctx, os.Stdin, os.Stdout, []impls.Spec{spec}, &spec)
}

// Run serves the requests on stdin with the given locks until exit, the end of stdin, or the end of ctx. It releases no lock: the server
// frees them when their lease ends. It returns an error if it cannot read a request or write an answer.
//
// A read of stdin cannot be interrupted: if ctx ends first, its goroutine remains.
func Run(ctx context.Context, stdin io.Reader, stdout io.Writer, specs []impls.Spec) error {
	return run(ctx, stdin, stdout, specs, nil)
}

// run is Run; program is the only lock of a program of its own, or nil.
func run(ctx context.Context, stdin io.Reader, stdout io.Writer, specs []impls.Spec, program *impls.Spec) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &output{encoder: json.NewEncoder(stdout), failed: cancel}
	session := newSession(ctx, out, specs, program)
	defer func() { session.end() }()

	requests := make(chan protocol.Request)
	idle := runtime.NumGoroutine() + 1 // with the reader
	read := make(chan error, 1)
	go func() {
		defer close(requests)
		read <- readRequests(ctx, stdin, requests)
	}()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case req, ok := <-requests:
			if !ok {
				return <-read
			}
			switch req.Do {
			case protocol.Exit:
				session.end()
				out.answer(req.ID, done())
				return nil
			case protocol.Reset:
				session.end()
				out.answer(req.ID, asNew(idle))
				session = newSession(ctx, out, specs, program)
			default:
				session.serve(req)
			}
		}
	}
}

// readRequests passes on the requests until stdin ends.
func readRequests(ctx context.Context, stdin io.Reader, requests chan<- protocol.Request) error {
	lines := bufio.NewScanner(stdin)
	lines.Buffer(nil, protocol.MaxLine)
	for number := 1; lines.Scan(); number++ {
		req, err := protocol.DecodeRequest(lines.Bytes())
		if err != nil {
			return fmt.Errorf("line %d of the requests: %w", number, err)
		}
		select {
		case requests <- req:
		case <-ctx.Done():
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading requests: %w", err)
	}
	return nil
}

// settleTime bounds the time that goroutines take to end.
const settleTime = 200 * time.Millisecond

// asNew answers ok if the process has as few goroutines as before its first session.
func asNew(idle int) protocol.Message {
	for deadline := time.Now().Add(settleTime); runtime.NumGoroutine() > idle; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return refused(fmt.Sprintf("%d goroutines are left, %d more than before", runtime.NumGoroutine(), runtime.NumGoroutine()-idle))
		}
	}
	return done()
}
