package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/locklab/locklab/internal/faults/process"
)

// memberPatience bounds the start and the end of a client process. It must not fire by accident on a loaded machine.
const memberPatience = time.Minute

// mostHeard bounds what a client process says, in bytes: what became of its updates, a few words each.
const mostHeard = 256 << 20

// member is a client process: it gets JSON and answers with JSON. Its input ends when it has to stop.
type member struct {
	process *process.Process
	to      *os.File
	from    *os.File
	heard   chan json.RawMessage // closed at the end of its output
}

func startMember(guard *process.Guard, argv []string) (_ *member, err error) {
	if len(argv) == 0 {
		return nil, errors.New("start a client: no command given")
	}
	childIn, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childIn.Close()
	from, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, to.Close())
	}
	defer childOut.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, os.Stderr
	m := &member{to: to, from: from, heard: make(chan json.RawMessage, 2)}
	if m.process, err = guard.Start(cmd); err != nil {
		return nil, errors.Join(err, to.Close(), from.Close())
	}
	go m.listen()
	return m, nil
}

// listen passes on the two answers of the process.
func (m *member) listen() {
	defer close(m.heard)
	decoder := json.NewDecoder(io.LimitReader(m.from, mostHeard))
	for range cap(m.heard) {
		var answer json.RawMessage
		if decoder.Decode(&answer) != nil {
			return
		}
		m.heard <- answer
	}
}

func (m *member) send(what any) error { return json.NewEncoder(m.to).Encode(what) }

// hear waits for the next answer, within a bound.
func (m *member) hear(ctx context.Context, bound time.Duration, what any) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	select {
	case answer, ok := <-m.heard:
		if !ok {
			return m.ended(ctx)
		}
		return json.Unmarshal(answer, what)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ended says how the process ended, whose output has.
func (m *member) ended(ctx context.Context) error {
	select {
	case <-m.process.Done():
		return fmt.Errorf("its process has ended: %s", m.process.State())
	case <-ctx.Done():
		return errors.New("its process has closed its output, or written no JSON")
	}
}

// succeeded says whether the process has ended by itself, and without complaint.
func (m *member) succeeded() bool {
	select {
	case <-m.process.Done():
		return m.process.Err() == nil
	default:
		return false
	}
}

// stop ends its input.
func (m *member) stop() { _ = m.to.Close() }

func (m *member) close() error {
	m.stop()
	err := m.process.Kill(context.Background())
	err = errors.Join(err, m.from.Close()) // what it has left behind may keep its output open
	for range m.heard {
	}
	return err
}
