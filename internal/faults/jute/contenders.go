package jute

import (
	"cmp"
	"maps"
	"slices"
)

// Contenders are the nodes below a lock's, with what a reader knows of each. The lock is that of the first: the one with the smallest number.
type Contenders[T any] struct {
	Known map[string]T // by name
	Head  string       // the node whose lock it is; empty: there is none, or Settle has not been called since it went
}

// Add takes in a new node. It has the lock if it is the first.
func (c *Contenders[T]) Add(name string, of T) {
	if c.Known == nil {
		c.Known = map[string]T{}
	}
	c.Known[name] = of
	if c.Head == "" || byNumber(name, c.Head) < 0 {
		c.Head = c.first()
	}
}

// Remove forgets a node.
func (c *Contenders[T]) Remove(name string) {
	delete(c.Known, name)
	if c.Head == name {
		c.Head = ""
	}
}

// Gone are the nodes that are not among names, the first one last: it is the one whose end lets another have the lock.
func (c *Contenders[T]) Gone(names []string) []string {
	gone := slices.DeleteFunc(slices.SortedFunc(maps.Keys(c.Known), byNumber), func(name string) bool { return slices.Contains(names, name) })
	slices.Reverse(gone)
	return gone
}

// Settle gives the lock to the first node if it is nobody's, and says whether it did.
func (c *Contenders[T]) Settle() bool {
	if c.Head != "" || len(c.Known) == 0 {
		return false
	}
	c.Head = c.first()
	return true
}

func (c *Contenders[T]) first() string {
	return slices.MinFunc(slices.Collect(maps.Keys(c.Known)), byNumber)
}

// byNumber orders nodes by the number that a ZooKeeper has put behind their names, and those without one by name.
func byNumber(a, b string) int {
	const digits = 10
	number := func(name string) string { return name[max(0, len(name)-digits):] }
	return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
}
