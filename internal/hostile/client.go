package hostile

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/worker"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// Run serves the requests on stdin as the lab's own worker does, but for the attack that the client is called by. It returns when the process
// is to end.
func Run(stdin, stdout *os.File) error {
	requests, feed := io.Pipe()
	ended := make(chan error, 2)
	go func() { ended <- worker.Run(context.Background(), requests, stdout, impls.All()) }()
	go func() { ended <- serve(stdin, stdout, feed) }()
	return <-ended
}

// scene is what an attack can reach.
type scene struct {
	stdin, stdout *os.File
	worker        *io.PipeWriter // serves the requests
	line          []byte         // the present request as it came
	request       protocol.Request
	server        string // address of the first lock server
	resource      string
	key           string // of the lock
	open          []net.Conn
}

// serve passes requests on to the worker until there are no more.
func serve(stdin, stdout *os.File, worker *io.PipeWriter) error {
	s := &scene{stdin: stdin, stdout: stdout, worker: worker}
	var attack Attack
	lines := bufio.NewScanner(stdin)
	for lines.Scan() {
		request, err := protocol.DecodeRequest(lines.Bytes())
		if err != nil {
			return err
		}
		s.line, s.request = lines.Bytes(), request
		switch request.Do {
		case protocol.Init: // a process may serve several cells
			s.server, s.resource = request.Servers[0], request.Resource
			attack, _ = Find(request.Client)
		case protocol.Open:
			s.key = request.Key
		}
		if request.Do == attack.At {
			if err := attack.strike(s); err != nil {
				return err
			}
		}
		if err := s.goOn(); err != nil {
			return err
		}
	}
	return lines.Err()
}

// goOn has the present request served.
func (s *scene) goOn() error {
	_, err := fmt.Fprintf(s.worker, "%s\n", s.line)
	return err
}

// livesOn does nothing any more, and does not end.
func livesOn(*scene) error { select {} }
