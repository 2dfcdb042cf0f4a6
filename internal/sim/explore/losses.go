package explore

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"
)

// A search reports every loss by one error. A real client reports them by several, and a lock may ask which, or learn of a loss only by a time-out of its
// own. So where a search has found nothing, paths with losses are executed again with each.

const lossSteps = 8_000 // for all paths

// lossErrors are the errors by which client libraries report that a reply does not come.
func lossErrors() []error {
	return []error{io.EOF, networkError("i/o timeout"), networkError("connection reset by peer"), context.DeadlineExceeded}
}

// networkError is an error of package net and below, by its text, for those who ask for a net.Error, for os.ErrDeadlineExceeded or for an error number.
type networkError string

func (e networkError) Error() string        { return "read tcp: " + string(e) }
func (e networkError) Timeout() bool        { return e == "i/o timeout" }
func (e networkError) Temporary() bool      { return e.Timeout() }
func (e networkError) Is(target error) bool { return target.Error() == string(e) }

// checkLosses executes paths with losses that are reported by other errors, and says what the lock then does otherwise.
func (p *sampler) checkLosses(ctx context.Context, ends []uint32) (string, error) {
	p.left = lossSteps
	for _, n := range append(p.lossPoints(), ends...) {
		if ctx.Err() != nil || p.left <= 0 {
			return "", ctx.Err()
		}
		path := p.path(p.points[n].paths[0])
		if !slices.ContainsFunc(path, p.isLoss) {
			continue
		}
		asked, err := p.lose(path, nil, nil)
		if err != nil {
			return "", err
		}
		for _, loss := range lossErrors() {
			others, err := p.lose(path, loss, asked)
			if err != nil {
				return "", err
			}
			if k := len(others) - 1; !reflect.DeepEqual(others[k], asked[k]) {
				op, _ := p.operation(&baseline{path: path}, k)
				return fmt.Sprintf("%s does something else if a loss is reported as %q, and the search reports losses by another error", op, loss), nil
			}
		}
	}
	return "", nil
}

// timesOut says whether a client waits with a time-out of the lock's own that the search has not let end there.
func (p *sampler) timesOut(t *execution) bool {
	n := &p.a.nodes[t.at]
	f := fork{p.at[t.at], p.input(n.client, input{inputExpired, t.in.slot, 0}), false}
	return n.slots[t.in.slot].due != never && !p.offered(f, moment{}, false)
}

// lossPoints are where clients stand right after a loss.
func (p *sampler) lossPoints() (list []uint32) {
	for n := range p.points {
		if paths := p.points[n].paths; len(paths) > 0 && p.isLoss(paths[0]) {
			list = append(list, uint32(n))
		}
	}
	p.chance.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	return list
}

func (p *sampler) isLoss(n uint32) bool { return p.a.taken[n].in.kind == inputLost }

// lose executes a path whose losses are reported by an error, nil: that of the search, up to where it does something else than before. A request that has a
// time-out of the lock's own ends with that, if this is the error, and no other does.
func (p *sampler) lose(path []uint32, loss error, before []askedFor) (asked []askedFor, err error) {
	return p.retrace(path, before, func(s *instance) { s.loss = loss }, func(s *instance, t *execution) input {
		in := t.in
		if loss == context.DeadlineExceeded {
			s.loss = nil
			if in.kind == inputLost && p.timesOut(t) {
				in.kind = inputExpired
			}
		}
		return in
	})
}

// retrace executes a path once more, up to where the lock does something else than before. begin makes the instance another one; given is what it is given
// in a step.
func (p *sampler) retrace(path []uint32, before []askedFor, begin func(s *instance), given func(s *instance, t *execution) input) (asked []askedFor, err error) {
	a := p.a
	a.executing.Store(int64(time.Since(a.born)))
	defer a.executing.Store(0)
	s := a.newInstance(int(a.nodes[a.taken[path[0]].at].client))
	begin(s)
	s.process.Rehearse()
	defer s.process.Close()
	for k, n := range path {
		p.left--
		t := &a.taken[n]
		notices, err := a.execute(s, given(s, t), t.when)
		if err != nil {
			return nil, a.impure(err)
		}
		asked = append(asked, askedNow(s, notices))
		if before != nil && !reflect.DeepEqual(asked[k], before[k]) {
			break
		}
	}
	return asked, nil
}
