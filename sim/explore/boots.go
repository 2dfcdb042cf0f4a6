package explore

import (
	"context"
	"fmt"
	"reflect"
	"time"
)

// In a search the monotonic clocks of all clients began at one moment, as they may on one machine. Those of several machines do not. A lock that shows
// others what its monotonic clock shows does something else then. So where a search has found nothing, paths are executed again by such a clock.

const (
	bootSteps  = 8_000 // for all paths
	bootedLong = ms(20 * 24 * 60 * 60 * 1000)
)

// checkBoots executes paths by a monotonic clock that began earlier, and says what the lock then does otherwise.
func (p *sampler) checkBoots(ctx context.Context, ends []uint32) (string, error) {
	p.left = bootSteps
	for _, n := range ends {
		if ctx.Err() != nil || p.left <= 0 {
			return "", ctx.Err()
		}
		path := p.path(p.points[n].paths[0])
		before, err := p.boot(path, 0, nil)
		if err != nil {
			return "", err
		}
		others, err := p.boot(path, bootedLong, before)
		if err != nil {
			return "", err
		}
		if k := len(others) - 1; !reflect.DeepEqual(others[k], before[k]) {
			op, _ := p.operation(&baseline{path: path}, k)
			return fmt.Sprintf("%s does something else if its monotonic clock began at another moment, as that of another machine did", op), nil
		}
	}
	return "", nil
}

// boot executes a path by a monotonic clock that began earlier, up to where the lock does something else than before.
func (p *sampler) boot(path []uint32, booted ms, before []askedFor) (asked []askedFor, err error) {
	a := p.a
	a.executing.Store(int64(time.Since(a.born)))
	defer a.executing.Store(0)
	s := a.newInstance(int(a.nodes[a.taken[path[0]].at].client))
	s.host.booted = booted
	s.process.Rehearse()
	defer s.process.Close()
	for k, n := range path {
		p.left--
		t := &a.taken[n]
		notices, err := a.execute(s, t.in, t.when)
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
