//go:build !linux

package process

// AdoptOrphans does nothing here: the system has no way to adopt orphans. A descendant that leaves its group and clears its environment
// outlives the run.
func (g *Guard) AdoptOrphans() error { return nil }

type orphanage struct{}

func (*orphanage) close() error { return nil }

func (g *Guard) descendants(of int) (group, left int, err error) {
	all, err := members(of)
	return max(0, len(all)-1), 0, err
}

// adopt does nothing: orphans go to the system's first process.
func adopt() error { return nil }

func ownChildren() ([]int, error) { return nil, nil }
