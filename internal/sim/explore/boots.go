package explore

import (
	"context"
	"fmt"
	"reflect"
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
func (p *sampler) boot(path []uint32, booted ms, before []askedFor) ([]askedFor, error) {
	begin := func(s *instance) { s.host.booted = booted }
	return p.retrace(path, before, begin, func(_ *instance, t *execution) input { return t.in })
}
