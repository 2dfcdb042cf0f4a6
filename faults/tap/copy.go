package tap

import (
	"context"
	"strconv"

	"github.com/locklab/locklab/faults/resp"
)

// keepCopy keeps a copy of a request that has been carried out, until its trap is released.
func (s *session) keepCopy(trap *Trap, f flight) {
	f.again, f.turn = true, false
	twin := &session{tap: s.tap, client: s.client, number: s.tap.conns.Add(1)}
	if s.tap.begin(func() { twin.sendCopy(trap, &f) }) {
		close(trap.reached)
	}
}

// sendCopy delivers a copy once its trap is released. If the server is gone by then, so is the copy.
func (s *session) sendCopy(trap *Trap, f *flight) {
	select {
	case <-trap.released:
	case <-s.tap.ctx.Done():
		return
	}
	up, err := dial(s.tap.ctx, s.tap.cfg.Upstream)
	if err != nil {
		return
	}
	defer up.Close()
	defer context.AfterFunc(s.tap.ctx, func() { up.Close() })()
	s.up, s.out, s.back = up, newOutbox(up, 0), resp.NewReader(up, s.tap.cfg.Limits)
	if _, err := s.exchange(resp.AppendCommand(nil, "SELECT", strconv.Itoa(f.db))); err != nil || !s.tap.takeTurn() {
		return
	}
	f.turn = true
	defer s.land(f)
	s.prepare(f)
	reply, err := s.exchange(f.raw)
	if err != nil {
		return
	}
	s.record(f, &reply)
	close(trap.delivered)
}

func (s *session) exchange(request []byte) (resp.Reply, error) {
	if _, err := s.up.Write(request); err != nil {
		return resp.Reply{}, err
	}
	return s.back.ReadReply()
}
