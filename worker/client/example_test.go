package client_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/locklab/locklab/worker/client"
)

// A client says what its lock does for each verb. In a program of its own that is all: client.Serve(hello, open, verbs).
func ExampleServeOn() {
	hello := map[string]any{"name": "mylock", "promises": []string{"release-by-owner"}}
	open := func(o client.Options) (*lock, error) { return &lock{key: o.Key}, nil }
	verbs := client.Verbs[*lock]{Acquire: (*lock).acquire, Release: (*lock).release}

	in, out := pipes(func(in io.Reader, out io.Writer) {
		if err := client.ServeOn(in, out, hello, open, verbs); err != nil {
			log.Fatal(err)
		}
	})
	answers := json.NewDecoder(out)
	for i, request := range []string{
		`{"id": 1, "do": "init", "version": 2}`,
		`{"id": 2, "do": "open", "handle": "h", "key": "k", "lease_ms": 1000}`,
		`{"id": 3, "do": "acquire", "handle": "h"}`,
		`{"id": 4, "do": "acquire", "handle": "h"}`,
		`{"id": 5, "do": "release", "handle": "h"}`,
		`{"id": 6, "do": "exit"}`,
	} {
		fmt.Fprintln(in, request)
		fmt.Println(request, answer(answers, i+1))
	}
	// Output:
	// {"id": 1, "do": "init", "version": 2} ok
	// {"id": 2, "do": "open", "handle": "h", "key": "k", "lease_ms": 1000} ok
	// {"id": 3, "do": "acquire", "handle": "h"} ok
	// {"id": 4, "do": "acquire", "handle": "h"} no
	// {"id": 5, "do": "release", "handle": "h"} ok
	// {"id": 6, "do": "exit"} ok
}

type lock struct {
	key  string
	held bool
}

func (l *lock) acquire(*client.Operation) (bool, error) {
	if l.held {
		return false, nil
	}
	l.held = true
	return true, nil
}

func (l *lock) release(*client.Operation) (bool, error) {
	was := l.held
	l.held = false
	return was, nil
}

// pipes starts a client between two pipes.
func pipes(serve func(io.Reader, io.Writer)) (in io.Writer, out io.Reader) {
	fromLab, toClient := io.Pipe()
	fromClient, toLab := io.Pipe()
	go serve(fromLab, toLab)
	return toClient, fromClient
}

// answer is the outcome of a request. Notices, such as those of a busy host, have no id.
func answer(answers *json.Decoder, id int) string {
	for {
		var said struct {
			ID             int
			Outcome, Error string
		}
		if err := answers.Decode(&said); err != nil {
			log.Fatal(err)
		}
		if said.ID == id {
			return strings.TrimSpace(said.Outcome + " " + said.Error)
		}
	}
}
