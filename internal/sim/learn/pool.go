package learn

import "slices"

// Instances that stand at a node are kept until the next step from there is asked for: it takes one step then, and not the whole path from
// the beginning. It makes no difference which instance at a node answers, or the lock is no function of its inputs.

// mostInstances is how many are kept; each may have a coroutine for every task.
const mostInstances = 1024

// pool is instances that wait to be used, by node.
type pool struct {
	at    map[uint32][]*instance
	slots []*instance // the next to be given up is at next
	next  int
}

func newPool() pool {
	return pool{at: map[uint32][]*instance{}, slots: make([]*instance, mostInstances)}
}

// put keeps an instance, and gives up the oldest.
func (p *pool) put(s *instance) {
	if last := p.slots[p.next]; last != nil {
		p.remove(last)
		last.Process.Close()
	}
	s.slot = p.next
	p.slots[p.next] = s
	p.at[s.at] = append(p.at[s.at], s)
	p.next = (p.next + 1) % mostInstances
}

func (p *pool) remove(s *instance) {
	p.slots[s.slot] = nil
	others := slices.DeleteFunc(p.at[s.at], func(other *instance) bool { return other == s })
	if len(others) == 0 {
		delete(p.at, s.at)
		return
	}
	p.at[s.at] = others
}

// take takes an instance that stands at a node; nil: there is none.
func (p *pool) take(at uint32) *instance {
	list := p.at[at]
	if len(list) == 0 {
		return nil
	}
	s := list[len(list)-1]
	p.remove(s)
	return s
}

// close ends all instances.
func (p *pool) close() {
	for _, s := range p.slots {
		if s != nil {
			s.Process.Close()
		}
	}
	*p = newPool()
}
