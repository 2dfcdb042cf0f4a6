package tap

import (
	"fmt"
	"io"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/internal/faults/commands"
	"github.com/locklab/locklab/internal/faults/resp"
)

// pass sends one request, and returns false if none can follow, as after the server's end. The caller has the token, which returns when the command is finished.
func (s *session) pass(request resp.Request) bool {
	if closed(s.ended) {
		return false
	}
	if s.dialect.opaque {
		s.passAll(request.Raw)
		return false
	}
	if len(request.Args) == 0 {
		s.idle <- struct{}{}
		return true
	}
	if why := s.refusal(request.Args); why != "" {
		s.refuse(request.Args, why)
		return false
	}
	s.out.waitForRoom()
	f := &s.flight
	// What the server lacks it shall lack also if another client loads it now: no breakpoint has counted the request.
	unseen := s.tap.cfg.Unseen(request.Args) || s.tap.lacks(s.client, request.Args)
	request.Raw = s.wire(request, unseen)
	if err := s.describe(f, request, unseen); err != nil {
		s.complain("request", err)
		return false
	}
	for _, armed := range f.breakpoints {
		if armed.point.Action == faults.ActHoldRequest && !s.hold(armed, nil) {
			return false
		}
	}
	return s.send(f, request.Raw)
}

// refusal says why a command does not pass, or is empty.
func (s *session) refusal(args [][]byte) string {
	if s.tap.cfg.Refuse == nil {
		return ""
	}
	if why := s.tap.cfg.Refuse(args); why != "" {
		return why
	}
	if name := s.tap.commands.Find(args).Name; s.dialect.queues(name) && isOdd(name) {
		return "within a transaction; the lab could not read what follows"
	}
	return ""
}

// noScript is a hash that no script has.
const noScript = "0000000000000000000000000000000000000000"

// wire is a request as the server gets it. An inline command that could have been refused becomes an array, so that the server splits it as the
// tap did. An unseen script, or one that the server lacks, is called by a hash that no script has.
func (s *session) wire(request resp.Request, unseen bool) []byte {
	inline := request.Raw[0] != byte(resp.KindArray)
	if !unseen && (!inline || s.tap.cfg.Refuse == nil) {
		return request.Raw
	}
	words := make([]string, len(request.Args))
	for i, arg := range request.Args {
		words[i] = string(arg)
	}
	if unseen {
		words[1] = noScript
	}
	return resp.AppendCommand(nil, words...)
}

// refuse answers a command that does not pass. The connection ends, and with it a transaction in which the command would be missing.
func (s *session) refuse(args [][]byte, why string) {
	what := commands.Title(args)
	s.out.push(fmt.Appendf(nil, "-ERR the lab refuses %s: %s\r\n", what, why))
	s.tap.fail(fmt.Errorf("tap: client %s sent %s to %s, which the lab refuses: %s", s.client, what, s.tap.cfg.Server, why))
}

// passAll passes on everything that the client sends, unread.
func (s *session) passAll(first []byte) {
	if _, err := s.up.Write(first); err != nil {
		return
	}
	io.Copy(s.up, s.in.Rest())
}
