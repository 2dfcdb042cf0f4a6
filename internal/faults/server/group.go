package server

// Group is a server of several processes, of which one at a time is the primary, at Addr. Clients learn from some of the processes which one
// that is.
type Group interface {
	Server
	// Nodes are those that have the data.
	Nodes() []Member
	// Guides are those that know the primary.
	Guides() []Member
}

// Member is a process of a group.
type Member struct {
	Addr      string // where it listens
	Announced string // how the others know it, and name it to clients
}
