package explore

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/locklab/locklab/internal/sim/service"
)

// A model lists nodes and members in one order, and a real server in any. So where a search has found nothing, paths are executed again with lists the other
// way round.

const listingSteps = 4_000 // for all paths

// unordered are the requests that are answered by a list in no particular order, and how many words of it belong together. What a script reads is not turned.
var unordered = map[string]int{"GETCHILDREN": 1, "SMEMBERS": 1, "HGETALL": 2}

// checkListings executes paths in which servers list in another order, and says what the lock then does otherwise.
func (p *sampler) checkListings(ctx context.Context, ends []uint32) (string, error) {
	p.left = listingSteps
	for _, n := range ends {
		for _, end := range p.points[n].paths {
			if ctx.Err() != nil || p.left <= 0 {
				return "", ctx.Err()
			}
			path := p.path(end)
			if !slices.ContainsFunc(path, p.lists) {
				continue
			}
			asked, err := p.listed(path, nil)
			if err != nil {
				return "", err
			}
			others, err := p.listed(path, asked)
			if err != nil {
				return "", err
			}
			if k := len(others) - 1; !reflect.DeepEqual(others[k], asked[k]) {
				op, _ := p.operation(&baseline{path: path}, k)
				return fmt.Sprintf("%s does something else if its server lists in another order, and a server promises none", op), nil
			}
		}
	}
	return "", nil
}

// lists says whether a client is given a list in a step that may have another order.
func (p *sampler) lists(n uint32) bool {
	t := &p.a.taken[n]
	return p.backwards(t) != t.in
}

// listed executes a path as it was; before: with lists the other way round, up to where the lock does something else than before.
func (p *sampler) listed(path []uint32, before []askedFor) ([]askedFor, error) {
	return p.retrace(path, before, func(*instance) {}, func(_ *instance, t *execution) input {
		if before == nil {
			return t.in
		}
		return p.backwards(t)
	})
}

// backwards is what a client is given in a step, with lists the other way round.
func (p *sampler) backwards(t *execution) input {
	in, a := t.in, p.a
	if in.kind != inputReply {
		return in
	}
	commands := a.texts.requests[a.nodes[t.at].slots[in.slot].request].commands
	replies := slices.Clone(a.texts.replies[in.arg].replies)
	turned := false
	for k := range replies {
		if k >= len(commands) || replies[k].Kind != service.Array {
			continue
		}
		if together := unordered[strings.ToUpper(commands[k][0])]; together > 0 && len(replies[k].List) > together {
			pieces := slices.Collect(slices.Chunk(replies[k].List, together))
			slices.Reverse(pieces)
			replies[k].List, turned = slices.Concat(pieces...), true
		}
	}
	if turned {
		in.arg = a.texts.reply(replies)
	}
	return in
}
