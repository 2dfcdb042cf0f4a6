package timeline

// Names numbers the clients, or the locks, of a history from 1, in the order of their first appearance; 0 is none.
type Names struct {
	ids  map[string]int
	list []string
	// last remembers the latest lookup: an operation's call and return often follow one another.
	last   string
	lastID int
}

func newNames() Names {
	return Names{ids: make(map[string]int), list: []string{""}}
}

func (n *Names) id(name string) int {
	if name == n.last {
		return n.lastID
	}
	id, ok := n.ids[name]
	if !ok {
		id = len(n.list)
		n.ids[name] = id
		n.list = append(n.list, name)
	}
	n.last, n.lastID = name, id
	return id
}

// Find is the number of a name seen before, or 0.
func (n *Names) Find(name string) int { return n.ids[name] }

// Name is the name of a number.
func (n *Names) Name(id int) string { return n.list[id] }
