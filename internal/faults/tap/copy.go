package tap

import (
	"context"
	"slices"
	"strconv"

	"github.com/locklab/locklab/internal/faults/resp"
)

// remember keeps the commands of a transaction while a breakpoint waits for a request of this client.
func (s *session) remember(f *flight, raw []byte) error {
	switch {
	case f.Name == "MULTI":
		s.account.Give(lengths(s.begun))
		s.begun = nil
	case !f.queued:
		return nil
	}
	if !s.tap.cfg.Breakpoints.watch(s.client) {
		return nil
	}
	if err := s.account.Take(len(raw)); err != nil {
		return err
	}
	s.begun = append(s.begun, slices.Clone(raw))
	return nil
}

func lengths(all [][]byte) (n int) {
	for _, raw := range all {
		n += len(raw)
	}
	return n
}

// keepCopy holds a copy of a request that has been answered, until its breakpoint is released.
func (s *session) keepCopy(armed *Armed, f flight) {
	f.again, f.turn = true, false
	twin := &session{
		tap: s.tap, client: s.client, addr: s.addr, other: s.other, number: s.tap.conns.last.Add(1), account: s.tap.cfg.Limits.Held.Account(),
	}
	if f.Name == "EXEC" {
		twin.begun = s.begun
	}
	if err := twin.account.Take(len(f.raw) + lengths(twin.begun)); err != nil {
		s.complain("request", err)
		return
	}
	if s.tap.begin(func() { twin.sendCopy(armed, &f) }) {
		armed.reach()
	}
}

// sendCopy delivers a copy once its breakpoint is released. If the server is gone by then, the copy is lost.
func (s *session) sendCopy(armed *Armed, f *flight) {
	defer s.account.Close()
	select {
	case <-armed.released:
	case <-s.tap.ctx.Done():
		return
	}
	up, err := s.tap.dial(s.client, s.addr)
	if err != nil {
		return
	}
	defer up.Close()
	defer context.AfterFunc(s.tap.ctx, func() { up.Close() })()
	limits := s.tap.cfg.Limits
	limits.Held = s.account
	s.up, s.out, s.back = up, newOutbox(up, 0, nil, nil), resp.NewReader(up, limits)
	if _, err := s.exchange(resp.AppendCommand(nil, "SELECT", strconv.Itoa(f.db))); err != nil || !s.tap.takeTurn() {
		return
	}
	f.turn = true
	defer s.partExpiry()
	defer s.land(f)
	s.prepare(f)
	reply, err := s.exchange(append(s.begun, f.raw)...)
	if err != nil {
		return
	}
	s.record(f, &reply)
	s.afterExpiry(f)
	armed.deliver()
}

// exchange sends requests and reads their replies, and returns the last.
func (s *session) exchange(requests ...[]byte) (reply resp.Reply, err error) {
	if _, err := s.up.Write(slices.Concat(requests...)); err != nil {
		return reply, err
	}
	for range requests {
		if reply, err = s.back.ReadReply(); err != nil {
			break
		}
	}
	return reply, err
}
